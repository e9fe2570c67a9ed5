/** The discovery document of a configured OpenID Provider, for what core does not ask it. */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import * as oauth from "oauth4webapi";
import { parseJsonObject } from "../utils/decode.ts";
import type { Fetch } from "./fetch.ts";
import type { Settings } from "./settings.ts";

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

export function openIdClient(providers: readonly Provider[], id: string): OpenIdClient {
  return toOpenIdClient(providers.find((each) => (each as { id?: string }).id === id)!);
}

/** The same of one provider, which has been prepared. */
export function toOpenIdClient(provider: object): OpenIdClient {
  return { ...provider as OpenIdClient, fetch: (provider as Settings)[customFetch] as Fetch };
}

/** The provider's `fetch` refuses plain http in production. */
export function requestOptions({ fetch }: Pick<OpenIdClient, "fetch">) {
  return {
    [oauth.allowInsecureRequests]: true,
    // deno-lint-ignore no-explicit-any -- the function is `fetch`, whose types differ from those of oauth4webapi
    [oauth.customFetch]: fetch as any,
  };
}

/**
 * The provider's metadata. They are kept for ten minutes, as for sign-ins.
 *
 * @throws {ProviderUnavailable} If the provider does not answer.
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID`, `FST_AUTHJS_UNAVAILABLE` for an answer that is no
 * such document.
 */
export async function openIdMetadata(client: OpenIdClient): Promise<oauth.AuthorizationServer> {
  const response = await oauth.discoveryRequest(new URL(client.issuer), requestOptions(client));
  return parseJsonObject(await response.text()) as unknown as oauth.AuthorizationServer;
}
