/** The keys that OpenID Providers publish for the signatures of their tokens. */
import { createRemoteJWKSet, customFetch, type RemoteJWKSet } from "jose";
import { LRUCache } from "lru-cache";
import { FastifyAuthError } from "../errors.ts";
import { parseJsonObject } from "../utils/decode.ts";
import type { Fetch } from "./fetch.ts";
import type { OpenIdClient } from "./openid_metadata.ts";
import type { ProviderError } from "./provider_error.ts";
import { ProviderUnavailable } from "./provider_unavailable.ts";

/** The most addresses whose keys are kept: a provider for many tenants has one for each. */
const MOST_ADDRESSES = 100;

/**
 * The published keys by provider and address. They are kept for ten minutes. A key that is not among them has
 * them fetched again, at most every 30 seconds.
 */
export class SigningKeys {
  readonly #sets = new LRUCache<string, RemoteJWKSet, () => RemoteJWKSet>({
    max: MOST_ADDRESSES,
    memoMethod: (_key, _stale, { context: make }) => make(),
  });

  /** The keys at an address. They throw a {@linkcode ProviderUnavailable} if they cannot be had. */
  at(url: string, { id, fetch }: OpenIdClient): RemoteJWKSet {
    return this.#sets.memo(`${id} ${url}`, {
      context: () => createRemoteJWKSet(new URL(url), { [customFetch]: keysAlone(id, fetch) }),
    });
  }
}

/**
 * The `fetch` of a provider, for keys alone. Without the signal of jose, which ends a request after five
 * seconds: this one has a deadline, `providerTimeout`.
 */
function keysAlone(id: string, fetch: Fetch): Fetch {
  return async (input, { signal: _signal, ...init } = {}) => {
    const response = await fetch(input, init).catch((error) => {
      // A refusal, too: the provider publishes that they are there.
      const isAnswer = error instanceof FastifyAuthError && error.code === "FST_AUTHJS_UNAVAILABLE";
      throw isAnswer ? new ProviderUnavailable(id, error.message, error.cause) : error;
    });
    const { keys } = parseJsonObject(await response.clone().text()) ?? {};
    if (Array.isArray(keys)) return response;
    const cause: ProviderError = { provider: id, status: response.status };
    throw new ProviderUnavailable(id, `"${id}" answered at ${input} without keys (RFC 7517).`, cause);
  };
}
