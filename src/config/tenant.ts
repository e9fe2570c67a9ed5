/**
 * The `tenant` option: a tenant with the same secret, host and database accepts nothing that another one hands out.
 * Each has secrets of its own, derived from the configured ones, for all that is sealed or hashed. A session token in a
 * database ends with a MAC instead. The names of cookies differ: users can be signed in at several tenants of a host.
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { Provider } from "@auth/core/providers";
import { Buffer } from "node:buffer";
import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { wrapMethods } from "../adapter/bind.ts";
import type { SessionListAdapter } from "../adapter/added_methods.ts";
import { decode, encode } from "../jwt/jwe.ts";
import type { CoreConfig } from "./cookies.ts";
import type { TokenGenerator } from "./core_config.ts";

export function forTenant(core: AuthConfig, tenant: string): CoreConfig {
  const derive = (secret: unknown) => derivedSecrets(secret, tenant);
  const secret = derive(core.secret);
  const generate = core.session!.generateSessionToken as TokenGenerator;
  const keys = [secret ?? []].flat() as string[];
  return {
    ...core,
    ...(secret !== undefined && { secret: secret as string }),
    jwt: boundCodec(withSecret(core.jwt ?? {}, derive), tenant),
    session: { ...core.session, generateSessionToken: (tag = "") => withMark(generate(tag), keys[0]!) },
    // Core hashes the tokens of mailed links with the provider's own secret, if it has one.
    providers: (core.providers as (Provider & { type?: string })[]).map((provider) =>
      provider.type === "email" ? withSecret(provider, derive) : provider
    ),
    ...(core.adapter && { adapter: ownSessions(core.adapter, (token) => hasMark(token, keys)) }),
    cookieTenant: nameIn(tenant),
  };
}

/** The tenant's part of the names of cookies: its own name if a cookie can have it, else a hash. */
function nameIn(tenant: string): string {
  if (/^[A-Za-z0-9_-]{1,40}$/.test(tenant)) return tenant;
  return `~${createHash("sha256").update(tenant).digest("base64url").slice(0, 16)}`;
}

/** The secrets of a tenant, of those that the configuration was checked for. */
function derivedSecrets(secret: unknown, tenant: string): unknown {
  if (Array.isArray(secret)) return secret.map((each) => derivedSecrets(each, tenant));
  return Buffer.from(hkdfSync("sha256", secret as string, "fastify-authjs tenant v1", tenant, 32)).toString(
    "base64url",
  );
}

function withSecret<T extends object>(options: T, derive: (secret: unknown) => unknown): T {
  const { secret } = options as { secret?: unknown };
  return secret === undefined ? options : { ...options, secret: derive(secret) };
}

/** The claim that says whose token this is, for a codec that may not use the secret that it is given. */
const CLAIM = "fastify-authjs.tenant";

/** The functions for tokens. One of the application's makes and reads them with the tenant in a claim. */
function boundCodec(jwt: NonNullable<AuthConfig["jwt"]>, tenant: string): NonNullable<AuthConfig["jwt"]> {
  const { encode: seal = encode, decode: open = decode } = jwt;
  if (seal === encode && open === decode) return jwt;
  return {
    ...jwt,
    encode: (params) => seal({ ...params, token: { ...params.token, [CLAIM]: tenant } }),
    async decode(params) {
      const opened = await open(params);
      if (opened === null) return null;
      const { [CLAIM]: owner, ...claims } = opened;
      if (owner !== tenant) throw new Error("The token is not of this tenant.");
      return claims;
    },
  };
}

/** How many bytes of a MAC a session token ends with: it cannot be guessed, and columns for tokens are short. */
const MARK_BYTES = 16;

/** Whether a session token in a database ends with a mark of one of the keys. */
function hasMark(token: string, keys: readonly string[]): boolean {
  const end = token.lastIndexOf(".");
  const mark = Buffer.from(token.slice(end + 1), "hex");
  if (end === -1 || mark.length !== MARK_BYTES) return false;
  return keys.some((key) => timingSafeEqual(mark, markOf(token.slice(0, end), key)));
}

function withMark(token: string, key: string): string {
  return `${token}.${markOf(token, key).toString("hex")}`;
}

function markOf(token: string, key: string): Buffer {
  return createHmac("sha256", key).update(`session token ${token}`).digest().subarray(0, MARK_BYTES);
}

/** The adapter, which neither finds nor changes the sessions of other tenants. */
function ownSessions(adapter: Adapter, isOwn: (token: string) => boolean): Adapter {
  return wrapMethods<SessionListAdapter>(adapter, {
    getSessionAndUser: (get) => async (token) => isOwn(token) ? await get(token) : null,
    updateSession: (update) => async (session) => isOwn(session.sessionToken) ? await update(session) : null,
    deleteSession: (remove) => async (token) => await (isOwn(token) ? remove(token) : null) as null,
    listSessionsByUserId: (list) => async (userId) => {
      const rows = await list(userId);
      // Anything else is said by who asks for them.
      if (!Array.isArray(rows)) return rows;
      return rows.filter((row) => typeof row?.sessionToken !== "string" || isOwn(row.sessionToken));
    },
  });
}
