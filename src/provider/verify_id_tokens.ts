/** Has the ID tokens of OpenID Providers verified before core reads them (`verifyIdTokens`). */
import type { Provider } from "@auth/core/providers";
import { invalidProvider } from "../errors.ts";
import { later } from "../utils/later.ts";
import type { ProviderLimits } from "./fetch.ts";
import { type OpenIdClient, toOpenIdClient } from "./openid_metadata.ts";
import { PUBLIC_KEY_ALGORITHMS, SECRET_ALGORITHMS } from "./token_keys.ts";
import type { SigningKeys } from "./signing_keys.ts";
import { factoryIdOf, variableOf } from "./settings.ts";

type Conform = (response: Response) => Response | undefined | Promise<Response | undefined>;

interface Endpoint {
  readonly url?: string | URL;
  readonly conform?: Conform;
}

type Limits = Pick<ProviderLimits, "insecure" | "production">;

export interface IdTokenVerification {
  readonly keys: () => Promise<SigningKeys>;
  /** Whether a provider that publishes no keys is refused. */
  readonly required: boolean;
}

/** Where the `conform` is kept that the token endpoint has without this. */
const UNVERIFIED = Symbol("conform without verifying");

const verifiedResponse = later(async () => (await import("./id_token.ts")).verifiedResponse);

/**
 * Makes `token.conform` verify the ID token in what core gets for a code. Core calls it last before it reads
 * the response.
 *
 * @param verification `undefined` if ID tokens are not verified.
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID` if there has to be a key, and can be none.
 */
export function verifyIdTokens(
  provider: Provider,
  verification: IdTokenVerification | undefined,
  limits: Limits,
): Provider {
  const { type, token } = provider as { readonly type: string; readonly token?: string | Endpoint | null };
  if (verification === undefined || type !== "oidc") return provider;
  const { keys, required } = verification;
  const client = toOpenIdClient(provider);
  if (required) requireKey(client, factoryIdOf(provider), limits);
  const endpoint: Endpoint = typeof token === "string" ? { url: token } : token ?? {};
  const { conform } = endpoint;
  const verified: Conform = async (response) =>
    await verifiedResponse(await conform?.(response.clone()) ?? response, client, await keys(), required);
  return {
    ...provider,
    token: { ...endpoint, [UNVERIFIED]: conform, conform: verified },
  } as unknown as Provider;
}

/** Warns if signatures are not verified. */
export function unverifiedWarnings(verifyIdTokens: boolean | undefined): string[] {
  if (verifyIdTokens !== false) return [];
  return [
    "The signatures of ID tokens are not verified, by `verifyIdTokens: false`, so whoever can change what an " +
    "OpenID Provider's token endpoint answers signs in as any of its users. Leave it out: if the keys of a provider " +
    "are not found, set its `jwks_endpoint`.",
  ];
}

/** The `conform` for a refresh, whose ID token nothing reads: a new refresh token must not be lost over it. */
export function unverifiedConform(endpoint: Endpoint): Conform | undefined {
  return UNVERIFIED in endpoint ? endpoint[UNVERIFIED] as Conform | undefined : endpoint.conform;
}

/** What can be known of the key before a sign-in. */
function requireKey(
  { id, issuer, clientSecret, client, jwks_endpoint }: OpenIdClient,
  factoryId: string,
  { production, insecure = [] }: Limits,
): void {
  const algorithm = client?.id_token_signed_response_alg;
  if (algorithm !== undefined && ![...PUBLIC_KEY_ALGORITHMS, ...SECRET_ALGORITHMS].includes(algorithm)) {
    throw invalidProvider(
      `\`verifyIdTokens\` cannot verify ID tokens of "${id}" that are signed with ${
        JSON.stringify(algorithm)
      }: ` +
        "set `client.id_token_signed_response_alg` to the algorithm that is registered there, or leave it out.",
    );
  }
  if (algorithm !== undefined && SECRET_ALGORITHMS.includes(algorithm)) {
    if (clientSecret) return;
    throw invalidProvider(
      `\`verifyIdTokens\` needs the \`clientSecret\` of "${id}", whose ID tokens are signed with it (${algorithm}).`,
    );
  }
  const [name, address] = isSet(jwks_endpoint) ? ["jwks_endpoint", jwks_endpoint] : ["issuer", issuer];
  if (isAddress(address)) {
    if (!production || name === "issuer" || /^https:/i.test(String(address)) || insecure.includes(id)) return;
    throw invalidProvider(
      `The \`jwks_endpoint\` of the provider "${id}" is reached without TLS, which NODE_ENV=production does not ` +
        `allow: use https, or on a private network \`insecureProviders: ["${id}"]\`.`,
    );
  }
  throw invalidProvider(
    `\`verifyIdTokens\` needs the keys of the provider "${id}", and its \`${name}\` is ` +
      `${isSet(address) ? "no address" : "not set"}: set \`issuer\` (or ${
        variableOf(factoryId, "ISSUER")
      }), whose discovery document says where they are, or \`jwks_endpoint\`.`,
  );
}

/** As core takes it, null is the same as unset. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isAddress(value: unknown): boolean {
  return typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value);
}
