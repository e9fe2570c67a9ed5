/** The discovery document of a configured OpenID Provider, for what core does not ask it. */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import * as oauth from "oauth4webapi";
import { clonePlain, mergeAsCore } from "../utils/clone.ts";
import { parseJsonObject } from "../utils/json.ts";
import type { Fetch } from "./fetch.ts";

/** A provider of the resolved configuration, with the application's settings. */
export interface OpenIdClient {
  readonly id: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly client?: Partial<oauth.Client>;
  /** Where its keys are, for a provider without a discovery document. */
  readonly jwks_endpoint?: unknown;
  /** Limited in time and size; it keeps discovery documents. */
  readonly fetch: Fetch;
}

/** The provider with this id. */
export function openIdClient(providers: readonly Provider[], id: string): OpenIdClient {
  return toOpenIdClient(providers.find((each) => idOf(each) === id)!);
}

/** The same of one provider. */
export function toOpenIdClient(provider: Provider): OpenIdClient {
  const { options = {}, ...own } = provider as ProviderShape;
  const merged = mergeAsCore(clonePlain(own), options) as unknown as OpenIdClient;
  return {
    ...merged,
    id: idOf(provider),
    fetch: (own as Record<PropertyKey, unknown>)[customFetch] as Fetch,
  };
}

function idOf(provider: Provider): string {
  const { id, options } = provider as ProviderShape;
  return options?.id ?? id!;
}

interface ProviderShape {
  readonly id?: string;
  readonly options?: { readonly id?: string };
}

/**
 * The provider's metadata. They are kept for ten minutes, as for sign-ins.
 *
 * @throws {ProviderUnavailable} If the provider does not answer.
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID`, `FST_AUTHJS_UNAVAILABLE` for an answer that is no
 * such document.
 */
export async function openIdMetadata({ issuer, fetch }: OpenIdClient): Promise<oauth.AuthorizationServer> {
  const response = await oauth.discoveryRequest(new URL(issuer), {
    // The provider's `fetch` refuses plain http in production.
    [oauth.allowInsecureRequests]: true,
    // deno-lint-ignore no-explicit-any -- the function is `fetch`, whose types differ from those of oauth4webapi
    [oauth.customFetch]: fetch as any,
  });
  return parseJsonObject(await response.text()) as unknown as oauth.AuthorizationServer;
}
