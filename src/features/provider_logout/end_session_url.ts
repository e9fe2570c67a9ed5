/** Where a browser ends its session at an OpenID Provider (OpenID Connect RP-Initiated Logout 1.0). */
import type { Provider } from "@auth/core/providers";
import { openIdClient, openIdMetadata } from "../../provider/openid_metadata.ts";

/** What the provider is told. */
export interface EndSessionParameters {
  /** An ID token of the session. */
  readonly idToken: string | undefined;
  /** Where it sends the browser afterwards. */
  readonly returnUrl: string;
  /** What it adds to that address. */
  readonly state: string;
}

/**
 * The address to send the browser to.
 *
 * @param tls Whether it must be https.
 * @returns `undefined` if the provider publishes no `end_session_endpoint` that can be used.
 * @throws If the discovery document cannot be had.
 */
export async function endSessionUrl(
  providers: readonly Provider[],
  id: string,
  { idToken, returnUrl, state }: EndSessionParameters,
  tls: boolean,
): Promise<string | undefined> {
  const client = openIdClient(providers, id);
  const { end_session_endpoint: endpoint } = await openIdMetadata(client);
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  if (url.protocol !== "https:" && (tls || url.protocol !== "http:")) return undefined;
  if (idToken !== undefined) url.searchParams.set("id_token_hint", idToken);
  url.searchParams.set("client_id", client.clientId);
  url.searchParams.set("post_logout_redirect_uri", returnUrl);
  url.searchParams.set("state", state);
  return url.href;
}
