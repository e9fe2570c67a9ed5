/** The keys that OpenID Providers publish for the signatures of their tokens. */
import { createRemoteJWKSet, customFetch, type RemoteJWKSet } from "jose";
import { RecentValues } from "../utils/recent_values.ts";
import type { Fetch } from "./fetch.ts";
import type { OpenIdClient } from "./openid_metadata.ts";

/** The most addresses whose keys are kept: a provider for many tenants has one for each. */
const MOST_ADDRESSES = 100;

/**
 * The published keys by provider and address. They are kept for ten minutes. A key that is not among them has
 * them fetched again, at most every 30 seconds.
 */
export class SigningKeys {
  readonly #sets = new RecentValues<RemoteJWKSet>(MOST_ADDRESSES);

  /**
   * The keys at an address.
   *
   * @throws {TypeError} where it is none.
   */
  at(url: string, { id, fetch }: OpenIdClient): RemoteJWKSet {
    return this.#sets.get(
      `${id} ${url}`,
      () => createRemoteJWKSet(new URL(url), { [customFetch]: withoutSignal(fetch) }),
    );
  }
}

/** The provider's `fetch` has a deadline, `providerTimeout`; that of jose would be five seconds. */
function withoutSignal(fetch: Fetch): Fetch {
  return (input, { signal: _signal, ...init } = {}) => fetch(input, init);
}
