/** Proofs of possession of a key (RFC 9449 section 4.3). */
import type { FastifyRequest } from "fastify";
import { hash } from "node:crypto";
import { calculateJwkThumbprint, decodeJwt, EmbeddedJWK, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import type { Guarded } from "../../core/context.ts";
import type { PublicOrigin } from "../../http/origin.ts";
import { PUBLIC_KEY_ALGORITHMS } from "../../provider/openid_client.ts";
import type { SharedStore } from "../../session/shared_store.ts";
import type { AccessTokenClaims } from "./options.ts";

/** Why a token does not count, for the log. */
export class Refused extends Error {}

/** By how many seconds a proof may be older or newer than now. */
const WINDOW = 300;

/** Checks proofs, each of which counts once. */
export class Proofs {
  readonly #store: SharedStore | undefined;
  readonly #seen = new LRUCache<string, true>({ max: 100_000, ttl: 2 * WINDOW * 1000, ttlResolution: 0 });

  constructor(store: SharedStore | undefined) {
    this.#store = store;
  }

  /**
   * @param isProven Whether the signature and the claims of the proof were checked already.
   * @throws {Refused} If the proof does not count, or came before.
   */
  async check(
    proof: string | string[] | undefined,
    token: string,
    claims: AccessTokenClaims,
    { request, origin, isProven }: {
      request: Guarded["request"];
      origin: PublicOrigin;
      isProven: boolean;
    },
  ): Promise<void> {
    if (typeof proof !== "string" || proof.includes(",")) throw new Refused("There is no proof, or several.");
    const url = `${origin.href}${(request as FastifyRequest).originalUrl}`;
    if (!isProven) await verify(proof, token, claims, request.method, url);
    const { jti } = decodeJwt(proof);
    const key = hash("sha256", `${(claims.cnf as { jkt?: string }).jkt} ${jti}`, "base64url");
    const isNew = this.#store === undefined
      ? !this.#seen.has(key)
      : await this.#store.call("lock", this.#store.key("dpop", key), "used", 2 * WINDOW * 1000);
    this.#seen.set(key, true);
    if (!isNew) throw new Refused("The proof came before.");
  }
}

async function verify(
  proof: string,
  token: string,
  { cnf }: AccessTokenClaims,
  method: string,
  url: string,
): Promise<void> {
  const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
    algorithms: [...PUBLIC_KEY_ALGORITHMS],
    typ: "dpop+jwt",
    requiredClaims: ["jti", "htm", "htu", "iat", "ath"],
  });
  const { htm, htu, iat, ath } = payload;
  const isOwn = (cnf as { jkt?: unknown }).jkt === await calculateJwkThumbprint(protectedHeader.jwk!) &&
    ath === hash("sha256", token, "base64url") && htm === method &&
    typeof htu === "string" && URL.canParse(htu) && withoutQuery(htu) === withoutQuery(url) &&
    Math.abs(Date.now() / 1000 - iat!) <= WINDOW;
  if (!isOwn) throw new Refused("The proof is of another key, request, token or time.");
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
