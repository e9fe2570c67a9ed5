/**
 * Documents that change once in years and are needed for each sign-in.
 *
 * @module
 */

/** How long a document is used, in milliseconds: a provider that moves an endpoint keeps the old one for longer. */
export const DISCOVERY_LIFETIME = 10 * 60_000;

/** A provider for many tenants has a document for each. */
export const DISCOVERY_ENTRIES = 100;

interface Entry {
  readonly document: Promise<string>;
  /** Infinity while it is on its way: who asks meanwhile waits for the same request. */
  expires: number;
}

/** Documents by URL. A failure is told to those who wait for it, and forgotten. */
export class DiscoveryCache {
  readonly #entries = new Map<string, Entry>();

  /**
   * @param lifetime Milliseconds a document is used for.
   * @param now The clock, in milliseconds.
   */
  constructor(
    private readonly lifetime: number = DISCOVERY_LIFETIME,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * The document at a URL.
   *
   * @param load Fetches it; rejects where the answer is not to be kept.
   */
  get(url: string, load: () => Promise<string>): Promise<string> {
    const known = this.#entries.get(url);
    if (known !== undefined && known.expires > this.now()) return known.document;
    this.#forget(url);
    return this.#add(url, load());
  }

  #add(url: string, document: Promise<string>): Promise<string> {
    const entry: Entry = { document, expires: Infinity };
    this.#entries.set(url, entry);
    document.then(
      () => entry.expires = this.now() + this.lifetime,
      () => this.#entries.get(url) === entry && this.#forget(url),
    );
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > DISCOVERY_ENTRIES) this.#forget(oldest!);
    return document;
  }

  #forget(url: string): void {
    this.#entries.delete(url);
  }
}
