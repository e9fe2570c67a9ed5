/** The access tokens of providers if sessions are in a JWT: in a claim of the session token. */
import type { ActionAuth } from "../../actions/perform.ts";
import { invalid } from "../../instance/arguments.ts";
import { changeSession, presentedToken, readClaims, readSession } from "../../instance/read_session.ts";
import { sessionName } from "../../session/open.ts";
import { ownReadOf } from "../../session/read.ts";
import { canCarryCookies } from "../../session/reply.ts";
import { RequestReads } from "../../session/request_reads.ts";
import type { JWT, SessionRequest } from "../../types.ts";
import {
  EARLY_MS,
  isExpired,
  onceAtATime,
  type ProviderTokens,
  type TokenPlace,
  tokensOf,
  withTokens,
} from "./provider_tokens.ts";

/**
 * The tokens in the session of a request.
 *
 * @param id The id of the provider.
 * @param exchange Exchanges a refresh token.
 */
export function tokensInSession(
  auth: ActionAuth,
  request: SessionRequest,
  id: string,
  exchange: (refreshToken: string) => Promise<ProviderTokens>,
): TokenPlace {
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
      const claims = await readClaims(request, config);
      if (claims === null) {
        // If it is not known whether there is a session, it is not known either that there are no tokens.
        const { failure } = await readSession(request, config);
        if (failure !== undefined) throw failure;
        return undefined;
      }
      const tokens = tokensOf(claims, id);
      if (tokens === undefined || presentedToken(request, config)!.settings.use !== "header") return tokens;
      // A client with a token in a header cannot be given the new refresh token.
      const { refresh_token: _unused, ...valid } = tokens;
      return valid;
    },
    async refresh() {
      if (!canCarryCookies(request)) throw invalid("getAccessToken()", REPLY_HAS_LEFT);
      const { cookie, settings } = presentedToken(request, config)!;
      const name = await sessionName(cookie.token, settings);
      if (ownReadOf({ name, settings }) !== undefined) throw invalid("getAccessToken()", REFRESHES_ITSELF);
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
