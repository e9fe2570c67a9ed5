/** The access tokens of providers: where they are kept, and when they are refreshed. */
import { LRUCache } from "lru-cache";
import { fromAdapter, rowsOf, signedInAs } from "../../actions/account_rows.ts";
import type { ActionAuth } from "../../actions/perform.ts";
import type { AccountUpdateAdapter } from "../../adapter/added_methods.ts";
import { strategyOf } from "../../config/adapter_problem.ts";
import { toCoreLogger } from "../../core/logger.ts";
import { AuthActionError, FastifyAuthError } from "../../errors.ts";
import { invalid } from "../../utils/arguments.ts";
import { changeSession, presentedToken, readClaims, readSession } from "../../instance/read_session.ts";
import { inTurn, refreshedElsewhere } from "../../session/in_turn.ts";
import { sessionName } from "../../session/open.ts";
import { ownReadOf } from "../../session/own_reads.ts";
import { canCarryCookies } from "../../session/reply.ts";
import { RequestReads } from "../../session/request_reads.ts";
import { type Place, placeOf } from "../../store/sealed_value.ts";
import type { JWT, SessionRequest } from "../../types.ts";
import { type ProviderTokens, tokensOf, withTokens } from "./mod.ts";
import { refreshTokens, refusalOf } from "./refresh_tokens.ts";

/** How long before it expires an access token is refreshed, in milliseconds: it is still to be sent. */
const EARLY_MS = 30_000;

/** How often tokens are refreshed for one call: others may change them at the same time. */
const ATTEMPTS = 3;

export async function getAccessToken(auth: ActionAuth, request: SessionRequest, id: string): Promise<string | null> {
  const { core, coreProviders, facts, providers } = auth.instance.config;
  await auth.instance.requireReady();
  if (!facts.config.refreshTokens) {
    throw invalid("getAccessToken()", "set `refreshTokens: true` in the configuration, which keeps the tokens.");
  }
  const { type } = providers.get(id) ?? {};
  if (type !== "oauth" && type !== "oidc") {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", `There is no OAuth provider "${id}".`);
  }
  const find = strategyOf(core) === "database" ? tokensInRows : tokensInSession;
  const place = find(auth, request, id, (token) => refreshTokens(coreProviders.get(id)!, token));
  for (let attempt = 0;; attempt++) {
    const tokens = await place.read();
    if (tokens === undefined) return null;
    const canRefresh = tokens.refresh_token !== undefined && attempt < ATTEMPTS;
    // A provider may issue tokens that expire sooner than they would be refreshed.
    if (!isExpired(tokens, canRefresh && attempt === 0 ? EARLY_MS : 0)) return tokens.access_token;
    if (!canRefresh) throw expired(id);
    try {
      await place.refresh();
    } catch (failure) {
      // Without a way to replace it, an access token is given out for as long as it is valid.
      if (isExpired(tokens, 0)) throw toError(failure, id);
      return tokens.access_token;
    }
  }
}

/** Why tokens could not be refreshed, for the application. */
function toError(failure: unknown, id: string): FastifyAuthError {
  if (failure instanceof FastifyAuthError && TOLD.includes(failure.code)) return failure;
  const cause = withoutResponse(failure);
  switch (refusalOf(failure)) {
    case "token":
      return expired(id, { cause });
    case "temporary":
      return new FastifyAuthError(
        "FST_AUTHJS_UNAVAILABLE",
        `The provider "${id}" cannot refresh the access token now. Try again in a moment.`,
        { cause },
      );
  }
  const told = { type: "Configuration", statusCode: 500 };
  return new AuthActionError(`Refreshing the access token of "${id}" failed.`, told, { cause });
}

/** Errors of ours that an application is told as they are: of the adapter or the store, and of the call. */
const TOLD: readonly string[] = ["FST_AUTHJS_UNAVAILABLE", "FST_AUTHJS_CONFIG_INVALID"];

/** The error without its causes, which have the response of the provider: there may be tokens in it. */
function withoutResponse(failure: unknown): unknown {
  const { name, message, stack, code, error, error_description } = Object(failure) as Error & Record<string, unknown>;
  return Object.assign(new Error(message), { name, stack, code, error, error_description });
}

function expired(id: string, options?: ErrorOptions): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_ACCESS_TOKEN_EXPIRED",
    `The access token of "${id}" has expired and cannot be refreshed. Sign in with it again.`,
    options,
  );
}

function isExpired({ expires_at }: ProviderTokens, early: number): boolean {
  return expires_at !== undefined && expires_at * 1000 - early <= Date.now();
}

/** The tokens of a provider that the signed-in user of a request has. */
interface TokenPlace {
  /** What is there now; `undefined` if there is nothing. Without a refresh token it cannot be refreshed. */
  read(): Promise<ProviderTokens | undefined>;
  /** Refreshes what was read last, unless that was done meanwhile. */
  refresh(): Promise<void>;
}

type Exchange = (refreshToken: string) => Promise<ProviderTokens>;

interface Memory {
  readonly underWay: Map<string, Promise<void>>;
  /** Refreshed tokens that could not be written, sealed as in the store, which may have failed, too. */
  readonly unwritten: LRUCache<string, string>;
}

/** What this process remembers, also for the next configuration of a tenant. */
function memoryOf({ instance: { memory } }: ActionAuth): Memory {
  const own = memory.get("access_tokens") as Memory | undefined ??
    { underWay: new Map(), unwritten: new LRUCache({ max: 1000, ttl: UNWRITTEN_MS }) };
  memory.set("access_tokens", own);
  return own;
}

/** Does work once for all who ask for it at the same time. */
async function onceAtATime(auth: ActionAuth, key: string, work: () => Promise<void>): Promise<void> {
  const { underWay } = memoryOf(auth);
  const working = underWay.get(key) ?? work().finally(() => underWay.delete(key));
  underWay.set(key, working);
  await working;
}

/** In a claim of the session token, if sessions are in a JWT. */
function tokensInSession(auth: ActionAuth, request: SessionRequest, id: string, exchange: Exchange): TokenPlace {
  const { config } = auth;

  /** The claims with refreshed tokens, unless they were refreshed meanwhile. */
  async function refreshed(claims: JWT): Promise<JWT | undefined> {
    const tokens = tokensOf(claims, id);
    if (tokens?.refresh_token === undefined || !isExpired(tokens, EARLY_MS)) return undefined;
    const { expires_at: _expired, ...kept } = tokens;
    return withTokens(claims, id, { ...kept, ...await exchange(tokens.refresh_token) });
  }

  return {
    async read() {
      // If it is not known whether there is a session, it is not known either that there are no tokens.
      const { failure } = await readSession(request, config);
      if (failure !== undefined) throw failure;
      const tokens = tokensOf(await readClaims(request, config) ?? {}, id);
      if (tokens === undefined || presentedToken(request, config)!.settings.use !== "header") return tokens;
      // A client with a token in a header cannot be given the new refresh token.
      const { refresh_token: _unused, ...valid } = tokens;
      return valid;
    },
    async refresh() {
      if (!canCarryCookies(request)) throw invalid("getAccessToken()", REPLY_HAS_LEFT);
      const { cookie, settings } = presentedToken(request, config)!;
      const name = await sessionName(cookie.token, settings);
      if (await ownReadOf({ name, settings }) !== undefined) throw invalid("getAccessToken()", REFRESHES_ITSELF);
      await onceAtATime(auth, JSON.stringify([name, id]), () => changeSession(request, config, refreshed));
      RequestReads.of(request).forget(config);
    },
  };
}

/** A new refresh token that does not reach the browser is lost, and the one before may be of no use any more. */
const REPLY_HAS_LEFT =
  "call it before the reply is sent, in a scope of the plugin and not for a WebSocket: the access token has " +
  "expired, and the reply must set the cookie that has its successor.";

const REFRESHES_ITSELF =
  "it was called by a function that is called while the session is read, such as the `jwt` callback, and would " +
  "refresh the tokens of this very session. Call it in a handler or a hook.";

type TokenRow = Readonly<{ provider: string; providerAccountId: string; tokens: ProviderTokens }>;

/** For how long refreshed tokens are kept that could not be written, in milliseconds. */
const UNWRITTEN_MS = 24 * 60 * 60_000;

/** In the rows of accounts, if sessions are in a database. */
function tokensInRows(auth: ActionAuth, request: SessionRequest, id: string, exchange: Exchange): TokenPlace {
  const { instance } = auth;
  const logger = toCoreLogger(request.log, instance);
  const store = instance.anyStore.reportingTo(logger);
  const { unwritten } = memoryOf(auth);
  let userId: string | undefined;
  let row: TokenRow | undefined;

  /**
   * The account of the provider. Of several, the one whose access token expires last: it was used for the latest
   * sign-in. Once one was found, it is the same one.
   */
  async function findRow(): Promise<TokenRow | undefined> {
    let latest: TokenRow | undefined;
    for (const found of await rowsOf({ id: userId! }, auth, "getAccessToken()")) {
      const { provider, providerAccountId, access_token, refresh_token, expires_at } = found;
      const isOther = row !== undefined && row.providerAccountId !== providerAccountId;
      if (provider !== id || !access_token || isOther) continue;
      const tokens: ProviderTokens = {
        access_token,
        ...(refresh_token && { refresh_token }),
        ...(expires_at !== null && expires_at !== undefined && { expires_at: Number(expires_at) }),
      };
      const { expires_at: end = Infinity } = tokens;
      if (latest === undefined || end > (latest.tokens.expires_at ?? Infinity)) {
        latest = { provider, providerAccountId, tokens };
      }
    }
    return latest;
  }

  async function hasChanged({ tokens }: TokenRow): Promise<boolean> {
    const now = (await findRow())?.tokens;
    return now?.access_token !== tokens.access_token || now.refresh_token !== tokens.refresh_token;
  }

  /**
   * Exchanges the refresh token, unless that was done since the row was read, or before and the result could not be
   * written.
   */
  async function renew(row: TokenRow): Promise<void> {
    if (await hasChanged(row)) return;
    const refresh_token = row.tokens.refresh_token!;
    const place = placeOf(JSON.stringify(row.tokens), "unwritten tokens");
    const [sealed] = await store.get([place.name]);
    const left = place.open(sealed ?? unwritten.get(place.name));
    if (left !== undefined) return await write(row, JSON.parse(left), place);
    let refreshed: ProviderTokens;
    try {
      refreshed = await exchange(refresh_token);
    } catch (failure) {
      // Without a lock, another process may have been faster.
      if (refusalOf(failure) === "token" && await hasChanged(row)) return;
      throw failure;
    }
    await write(row, { refresh_token, ...refreshed }, place);
  }

  /** Those of a later sign-in stay. If they cannot be written they are kept: the ones before are spent. */
  async function write(row: TokenRow, tokens: ProviderTokens, place: Place): Promise<void> {
    const { provider, providerAccountId } = row;
    const { access_token, refresh_token = null, expires_at = null } = tokens;
    try {
      const account = { provider, providerAccountId, access_token, refresh_token, expires_at };
      if (!await hasChanged(row)) {
        await fromAdapter((instance.config.core.adapter as AccountUpdateAdapter).updateAccount(account));
      }
    } catch (cause) {
      const sealed = place.seal(JSON.stringify(tokens));
      unwritten.set(place.name, sealed);
      await store.set(place.name, sealed, UNWRITTEN_MS);
      const problem = `The refreshed tokens of "${provider}" could not be written to the row of their account. ` +
        "They are kept for a day, and written with the next getAccessToken() of the user.";
      logger.error(new Error(problem, { cause }));
      throw cause;
    }
  }

  return {
    async read() {
      userId ??= (await signedInAs(auth, request))?.id;
      if (userId === undefined) return undefined;
      row = await findRow();
      return row?.tokens;
    },
    async refresh() {
      const before = row!;
      const key = JSON.stringify([before.provider, before.providerAccountId]);
      await onceAtATime(auth, key, async () => {
        // The row itself has the result for the processes that wait. Those for http have the same store.
        const context = { settings: instance.settings(true), logger };
        const work = () => renew(before).then(() => ({}));
        if (await inTurn(context, before.tokens.refresh_token!, work) === undefined) throw refreshedElsewhere();
      });
    },
  };
}
