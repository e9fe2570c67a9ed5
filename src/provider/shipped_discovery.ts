/** Discovery addresses that core 0.41.3 ships and does not read. */
import type { Provider } from "@auth/core/providers";

/** What the factories add to the issuer for `wellKnown`, although the issuer ends with it already. */
const REPEATED: Readonly<Record<string, string>> = { asgardeo: "/oauth2/token/", onelogin: "/oidc/2/" };

/** Leaves out an address that cannot be right, so that the one below the issuer is used. */
export function withoutRepeatedPath(provider: Provider): Provider {
  const { wellKnown, ...rest } = provider as unknown as Record<string, unknown>;
  const repeated = Object.hasOwn(REPEATED, String(rest.id)) ? REPEATED[String(rest.id)] : undefined;
  // Only core's factories keep the application's settings under `options`.
  const issuer = (rest.options as { issuer?: unknown } | undefined)?.issuer;
  return repeated !== undefined && wellKnown === `${issuer}${repeated}.well-known/openid-configuration`
    ? rest as unknown as Provider
    : provider;
}
