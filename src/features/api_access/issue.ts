/** Access tokens that this application issues for other services, and the keys that sign them. */
import { randomUUID } from "node:crypto";
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { signedInAs } from "../../actions/account_rows.ts";
import type { ActionAuth } from "../../actions/perform.ts";
import { isFilled } from "../../config/rules.ts";
import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { AuthInUse, RequestContext } from "../../core/context.ts";
import { FastifyAuthError } from "../../errors.ts";
import { requireOrigin } from "../../http/origin.ts";
import { assertObject, invalid } from "../../utils/arguments.ts";
import { pathsIn } from "../../instance/mount.ts";
import { readSession } from "../../instance/read_session.ts";
import { placeOf } from "../../store/sealed_value.ts";
import type { SessionRequest } from "../../types.ts";
import { idOf } from "../../utils/text.ts";
import { claimsOf } from "./authenticate.ts";
import { isScope } from "./guard_options.ts";
import type { AccessTokenClaims, IssueTokenOptions } from "./options.ts";

const DAY = 24 * 60 * 60;

/** In milliseconds: when a key of the store is replaced, and for how long it is published. */
const REPLACED_AFTER = 30 * DAY * 1000, PUBLISHED_FOR = 40 * DAY * 1000;

interface SigningKey {
  /** A private key. */
  readonly jwk: JWK & { readonly kid: string; readonly alg: string };
  /** When it was made. */
  readonly at: number;
}

// deno-lint-ignore require-await -- an error is a rejection
export async function getClaims(_auth: ActionAuth, request: SessionRequest): Promise<AccessTokenClaims | null> {
  const claims = claimsOf(request);
  if (claims !== undefined) return claims;
  throw invalid("getClaims()", 'no guard of this route accepts access tokens: add `tokens: ["access"]` to it.');
}

export async function issueToken(
  auth: ActionAuth,
  request: SessionRequest,
  options: IssueTokenOptions,
): Promise<string> {
  const { config, instance } = auth;
  assertObject(options, "options of issueToken()", ["audience", "scopes", "ttl"]);
  const { audience, ttl = 300, scopes = [] } = options;
  const refused = (problem: string) => invalid("issueToken()", problem);
  if (typeof audience !== "string" || audience === "") throw refused("`audience` is missing.");
  if (!(Number.isInteger(ttl) && ttl >= 1 && ttl <= DAY)) {
    throw refused(`\`ttl\` must be a number of seconds from 1 to ${DAY}.`);
  }
  if (!Array.isArray(scopes) || !scopes.every(isScope)) throw refused("`scopes` must be a list of scopes.");
  await instance.requireReady();
  if (!instance.config.facts.config.apiAccess) throw refused("set `apiAccess: {}` in the configuration.");
  const { session, claims, failure } = await readSession(request, config);
  if (failure !== undefined) throw failure;
  // With sessions in a database a session has the id only if the `session` callback adds it.
  const sub = idOf(session?.user?.id) ?? idOf(claims?.sub) ?? idOf((await signedInAs(auth, request))?.id);
  if (session === null || sub === undefined) {
    throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in to get a token.");
  }
  const [key] = await signingKeys(instance, true);
  if (key === undefined) {
    throw refused(
      "there are no keys: set the variable AUTH_SIGNING_KEYS, a JWK Set with a private key (ES256 or EdDSA), " +
        "or a `store`, in which they are made.",
    );
  }
  const paths = pathsIn(request.server, instance);
  if (paths === undefined) throw refused("register the `plugin` in this application, which publishes the keys.");
  const issuer = requireOrigin(request, instance.config.origin).href + paths.mount;
  const scope = scopes.length > 0 && { scope: scopes.join(" ") };
  return await new SignJWT({ ...scope, client_id: issuer })
    .setProtectedHeader({ alg: key.jwk.alg, kid: key.jwk.kid, typ: "at+jwt" })
    .setIssuer(issuer).setSubject(sub).setAudience(audience).setJti(randomUUID())
    .setIssuedAt().setExpirationTime(`${ttl}s`)
    .sign(await importJWK(key.jwk, key.jwk.alg));
}

/** `GET <mount path>/jwks`: the public keys (RFC 7517). */
export async function jwksAnswer({ auth }: RequestContext): Promise<Answer> {
  const keys = await signingKeys(auth, false);
  // Not what else is known of the private key: its `key_ops` would keep the public one from verifying.
  const publicJwk = ({ kty, crv, x, y, kid, alg }: JWK) => ({ kty, crv, x, y, kid, alg, use: "sig" });
  return jsonAnswer({ keys: keys.map(({ jwk }) => publicJwk(jwk)) });
}

/** The keys, the one that signs first. */
async function signingKeys(auth: AuthInUse, makes: boolean): Promise<readonly SigningKey[]> {
  const { facts: { env }, refresh, core: { secret } } = auth.config;
  if (env.AUTH_SIGNING_KEYS !== undefined) return keysIn(env.AUTH_SIGNING_KEYS);
  if (refresh.store === undefined) return [];
  const { anyStore: store } = auth;
  // The first secret may be new: those before it have sealed keys, and other processes may still use them.
  const places = [secret!].flat().map((each) => placeOf(each, "signing keys"));
  const [place] = places;
  const read = async () => {
    const values = await store.call("get", places.map(({ name }) => name));
    const [own = [], ...others] = places.map((each, index) =>
      (JSON.parse(each.open(values[index]) ?? "[]") as SigningKey[]).filter(({ at }) => at > Date.now() - PUBLISHED_FOR)
    );
    const byId = new Map([...own, ...others.flat()].map((key) => [key.jwk.kid, key]));
    const keys = [...byId.values()].sort((a, b) => b.at - a.at);
    const isNew = keys[0] !== undefined && keys[0].at > Date.now() - REPLACED_AFTER;
    return { keys, isNew, isComplete: isNew && own.length === keys.length };
  };
  const known = await read();
  if (!makes || known.isComplete) return known.keys;
  const lock = `${place!.name}:lock`, owner = randomUUID();
  // Another process makes it meanwhile: the old one signs, or the new one once it is there.
  for (let tries = 0; !await store.call("lock", lock, owner, 5000) && tries < 50; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  try {
    const current = await read();
    if (current.isComplete) return current.keys;
    const keys = current.isNew ? current.keys : [await newKey(), ...current.keys];
    await store.call("set", place!.name, place!.seal(JSON.stringify(keys)), PUBLISHED_FOR);
    return keys;
  } finally {
    await store.call("unlock", lock, owner);
  }
}

async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { jwk: { ...await exportJWK(privateKey), kid: randomUUID(), alg: "ES256" }, at: Date.now() };
}

/** By the type of a key and its curve. */
const ALGORITHMS: Readonly<Record<string, string>> = { "EC P-256": "ES256", "OKP Ed25519": "EdDSA" };

/** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`, without what is in the variable. */
function keysIn(text: string): SigningKey[] {
  try {
    const { keys } = JSON.parse(text) as { keys: JWK[] };
    return keys.map((jwk) => {
      const { kid, d, kty, crv } = jwk;
      const alg = ALGORITHMS[`${kty} ${crv}`];
      if (!isFilled(kid) || !d || alg === undefined || (jwk.alg ?? alg) !== alg) throw new Error(kty);
      return { jwk: { ...jwk, kid, alg }, at: 0 };
    });
  } catch {
    throw invalid(
      "AUTH_SIGNING_KEYS",
      'write a JWK Set as JSON, `{"keys":[…]}`, of private keys for ES256 (P-256) or EdDSA (Ed25519), each with `kid`.',
    );
  }
}
