/** The keys that OpenID Providers publish for the signatures of their tokens. */
import { createRemoteJWKSet, customFetch, type RemoteJWKSet } from "jose";
import { LRUCache } from "lru-cache";
import { FastifyAuthError } from "../errors.ts";
import { parseJsonObject } from "../utils/decode.ts";
import type { OpenIdClient } from "./openid_client.ts";
import { type ProviderError, ProviderUnavailable } from "./provider_error.ts";

/** The most addresses whose keys are kept: a provider for many tenants has one for each. */
const MOST_ADDRESSES = 100;

/** Kept for ten minutes by provider and address; an unknown key has them fetched again, at most every 30 seconds. */
export class SigningKeys {
  readonly #sets = new LRUCache<string, RemoteJWKSet>({ max: MOST_ADDRESSES });

  /** The keys at an address. They throw a {@linkcode ProviderUnavailable} if they cannot be had. */
  at(url: string, client: Pick<OpenIdClient, "id" | "fetch">): RemoteJWKSet {
    const name = `${client.id} ${url}`;
    const set = this.#sets.get(name) ??
      createRemoteJWKSet(new URL(url), { [customFetch]: (input, init) => fetchKeys(input, init, client) });
    this.#sets.set(name, set);
    return set;
  }
}

/** Without the signal of jose, which ends a request after five seconds: the provider's `fetch` has a deadline. */
async function fetchKeys(
  input: string,
  { signal: _signal, ...init }: RequestInit,
  { id, fetch }: Pick<OpenIdClient, "id" | "fetch">,
): Promise<Response> {
  const response = await fetch(input, init).catch((error) => {
    // A refusal, too: the provider publishes that they are there.
    const isAnswer = error instanceof FastifyAuthError && error.code === "FST_AUTHJS_UNAVAILABLE";
    throw isAnswer ? new ProviderUnavailable(id, error.message, error.cause) : error;
  });
  const { keys } = parseJsonObject(await response.clone().text()) ?? {};
  if (Array.isArray(keys)) return response;
  const cause: ProviderError = { provider: id, status: response.status };
  throw new ProviderUnavailable(id, `"${id}" answered at ${input} without keys (RFC 7517).`, cause);
}
