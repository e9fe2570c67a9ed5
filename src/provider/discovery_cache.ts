/** Keeps discovery documents: every sign-in needs one, and they rarely change. */

import { monotonicNow } from "../utils/monotonic.ts";

/**
 * How long a document is kept, in milliseconds. A provider that moves an endpoint keeps the old one for
 * longer.
 */
const LIFETIME = 10 * 60_000;

/** The most documents that are kept; a provider for many tenants has one for each. */
const MAXIMUM = 100;

interface Entry {
  readonly document: Promise<string>;
  /** Infinity until it has arrived: concurrent sign-ins share one request. */
  expires: number;
}

/** Documents by URL. A failure rejects the calls that wait for it, and is not kept. */
export class DiscoveryCache {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  /** @param now The clock, in milliseconds. */
  constructor(now: () => number = monotonicNow) {
    this.#now = now;
  }

  /**
   * The document at a URL.
   *
   * @param load Fetches it; rejects where the response must not be kept.
   */
  get(url: string, load: () => Promise<string>): Promise<string> {
    const known = this.#entries.get(url);
    if (known !== undefined && known.expires > this.#now()) return known.document;
    // Deleted first, so that the new entry is the youngest.
    this.#entries.delete(url);
    return this.#add(url, load());
  }

  #add(url: string, document: Promise<string>): Promise<string> {
    const entry: Entry = { document, expires: Infinity };
    this.#entries.set(url, entry);
    document.then(
      () => entry.expires = this.#now() + LIFETIME,
      () => this.#entries.get(url) === entry && this.#entries.delete(url),
    );
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAXIMUM) this.#entries.delete(oldest!);
    return document;
  }
}
