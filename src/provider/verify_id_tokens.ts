/** Has the ID tokens of OpenID Providers verified before core reads them (`verifyIdTokens`). */
import type { Provider } from "@auth/core/providers";
import { later } from "../utils/later.ts";
import { toOpenIdClient } from "./openid_metadata.ts";
import type { SigningKeys } from "./signing_keys.ts";

type Conform = (response: Response) => Response | undefined | Promise<Response | undefined>;

interface Endpoint {
  readonly url?: string | URL;
  readonly conform?: Conform;
}

export interface IdTokenVerification {
  readonly keys: () => Promise<SigningKeys>;
  /** Whether a provider that publishes no keys is refused. */
  readonly required: boolean;
}

/** Where the `conform` is kept that the token endpoint has without this. */
const UNVERIFIED = Symbol("conform without verifying");

const verifiedResponse = later(async () => (await import("./id_token.ts")).verifiedResponse);

/** Makes `token.conform` verify the ID token in what core gets for a code: core calls it last. */
export function verifyIdTokens(
  provider: Provider,
  verification: IdTokenVerification | undefined,
): Provider {
  const { type, token } = provider as { readonly type: string; readonly token?: string | Endpoint | null };
  if (verification === undefined || type !== "oidc") return provider;
  const { keys, required } = verification;
  const client = toOpenIdClient(provider);
  const endpoint: Endpoint = typeof token === "string" ? { url: token } : token ?? {};
  const { conform } = endpoint;
  const verified: Conform = async (response) =>
    await verifiedResponse(await conform?.(response.clone()) ?? response, client, await keys(), required);
  return {
    ...provider,
    token: { ...endpoint, [UNVERIFIED]: conform, conform: verified },
  } as unknown as Provider;
}

/** The `conform` for a refresh, whose ID token nothing reads: a new refresh token must not be lost over it. */
export function unverifiedConform(endpoint: Endpoint): Conform | undefined {
  return UNVERIFIED in endpoint ? endpoint[UNVERIFIED] as Conform | undefined : endpoint.conform;
}
