/** Verifies the signature of an ID token (OpenID Connect Core 1.0, section 3.1.3.7, numbers 6 to 8). */
import { compactVerify, decodeProtectedHeader, errors } from "jose";
import { FastifyAuthError, invalidProvider } from "../errors.ts";
import { jwtPayload, parseJsonObject } from "../utils/decode.ts";
import { BufferedResponse } from "./answers.ts";
import { type OpenIdClient, publishedKeys, secretKey } from "./openid_client.ts";
import { PUBLIC_KEY_ALGORITHMS, SECRET_ALGORITHMS } from "./openid_client.ts";
import { ProviderUnavailable, toLogText } from "./provider_error.ts";
import type { SigningKeys } from "./signing_keys.ts";

/**
 * A response of the token endpoint with an ID token whose signature is right. One without an ID token is for core to
 * refuse, and so are the claims. If the provider publishes no keys, TLS stands for the signature.
 * @param required Whether a token is refused then.
 */
export async function verifiedResponse(response: Response, client: OpenIdClient, keys: SigningKeys, required: boolean) {
  // Core reads tokens in no other.
  if (response.status !== 200) return response;
  const { status, statusText, headers } = response;
  const text = await response.text();
  const { id_token: token } = parseJsonObject(text) ?? {};
  if (typeof token === "string") {
    await verify(token, client, keys, required).catch((error) => {
      if (error instanceof FastifyAuthError) throw error;
      const outcome = error instanceof errors.JOSEError ? "is refused" : "cannot be verified";
      throw invalidProvider(`The ID token of "${client.id}" ${outcome}: ${reasonOf(error, token)}.`, { cause: error });
    });
  }
  return new BufferedResponse(text, { status, statusText, headers });
}

async function verify(token: string, client: OpenIdClient, keys: SigningKeys, required: boolean): Promise<void> {
  const secret = secretKey(client);
  if (secret !== undefined) return void await compactVerify(token, secret.key, { algorithms: secret.algorithms });
  const { url, algorithms = [] } = await findKeys(token, client, required) ?? {};
  if ((url === undefined || url === null) && !required) return;
  if (typeof url !== "string" || !URL.canParse(url)) {
    throw noKeys(client.id, "Its discovery document names no `jwks_uri`.");
  }
  const set = keys.at(url, client);
  const { coolingDown } = set;
  try {
    await compactVerify(token, set, { algorithms });
  } catch (error) {
    if (!coolingDown || !(error instanceof errors.JWKSNoMatchingKey)) throw error;
    // The provider may have a new key since. That costs it a request for each of its token responses at most,
    // unlike a token that anyone may send.
    await set.reload();
    await compactVerify(token, set, { algorithms });
  }
}

/** @returns `undefined` if there is no discovery document, and none is required. */
async function findKeys(token: string, client: OpenIdClient, required: boolean) {
  const { id, jwks_endpoint } = client;
  const issuer = tenantIssuer(client.issuer, token);
  if (!required && typeof jwks_endpoint !== "string" && !URL.canParse(issuer)) return undefined;
  return await publishedKeys({ ...client, issuer }).catch((error) => {
    if (!(error instanceof FastifyAuthError)) throw error;
    const { status } = Object(error.cause) as { status?: number };
    const isUnavailable = error instanceof ProviderUnavailable;
    // A refusal or a page, and no document. Core needs none if endpoints are set.
    const isAbsent = isUnavailable ? status === 200 : error.code === "FST_AUTHJS_UNAVAILABLE";
    if (!required && isAbsent) return undefined;
    if (!isUnavailable) throw noKeys(id, error.message, error);
    // Without a document to look into it is not known whether there are keys.
    const hint = "The keys of its ID tokens are found there, unless `jwks_endpoint` says where they are.";
    throw new ProviderUnavailable(id, `${error.message} ${hint}`, error.cause);
  });
}

function noKeys(id: string, why: string, cause?: Error): FastifyAuthError {
  return invalidProvider(
    `\`verifyIdTokens\` finds no keys of "${id}". ${why} If it publishes its keys without a discovery document, ` +
      "set its `jwks_endpoint` to their address.",
    cause && { cause },
  );
}

/** An issuer of Microsoft that stands for many tenants. */
const MANY_TENANTS =
  /^(https:\/\/login\.(?:partner\.)?microsoftonline\.[a-z]+\/)(?:common|organizations|consumers)(?=\/)/;

/** For an issuer of many tenants that of the token's: the keys of all tenants would accept one of another tenant. */
function tenantIssuer(issuer: string, token: string): string {
  if (!MANY_TENANTS.test(issuer)) return issuer;
  const { tid } = jwtPayload(token) ?? {};
  // deno-coverage-ignore Microsoft has `tid` in each ID token
  if (typeof tid !== "string" || !/^[\w-]+$/.test(tid)) return issuer;
  return issuer.replace(MANY_TENANTS, (_all, start: string) => start + tid);
}

const REASONS: Readonly<Record<string, string>> = {
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'it names no key ("kid"), and several keys of the provider may be meant',
  ERR_JWKS_NO_MATCHING_KEY: "the provider publishes no key for it",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
};

/** Why, without any part of the token but the name of its algorithm. */
function reasonOf(error: unknown, token: string): string {
  const { code = "", message } = error as { code?: string; message: string };
  if (code !== errors.JOSEAlgNotAllowed.code) return REASONS[code] ?? toLogText(message)!;
  const alg = toLogText(decodeProtectedHeader(token).alg) ?? "";
  const hint = [...PUBLIC_KEY_ALGORITHMS, ...SECRET_ALGORITHMS].includes(alg)
    ? `. If it is registered there, set \`client: { id_token_signed_response_alg: "${alg}" }\``
    : "";
  return `its algorithm ${JSON.stringify(alg)} is not one that is expected${hint}`;
}
