import type { SessionRequest } from "../../types/records.ts";

/** The option of access tokens of providers. */
export interface AccessTokensConfig {
  /**
   * Whether the tokens that OAuth and OpenID Connect providers issue are kept for `auth.getAccessToken()`, which
   * refreshes an access token that has expired: in the session token, which is encrypted, or with the strategy
   * "database" in the row of the account. The adapter then needs `withAccountList()` and `withAccountUpdate()`.
   * @default false
   */
  refreshTokens?: boolean;
}

/** What access tokens of providers add to the object of `createAuth()`. */
export interface AccessTokensActions {
  /**
   * A valid access token of an OAuth or OpenID Connect provider, for requests to its API. One that expires within half
   * a minute is refreshed at the provider's token endpoint, once however many requests ask at the same time. The reply
   * sets the new session cookie; with sessions in a database the row of the account is updated. Needs
   * `refreshTokens: true`.
   * @param request The request, in any hook or handler.
   * @returns The access token; `null` if there is no session, or the user has not signed in with the provider.
   * @throws {FastifyAuthError} `FST_AUTHJS_ACCESS_TOKEN_EXPIRED` (401) if the provider issued no refresh token or
   * refuses it: the user has to sign in again; `FST_AUTHJS_UNAVAILABLE` (503) if the provider or the database does not
   * answer, or the provider with 429 or 5xx; `FST_AUTHJS_NOT_FOUND` (404) if there is no such provider;
   * `FST_AUTHJS_CONFIG_INVALID` without `refreshTokens`; `AuthActionError` (500) if the provider refuses the client.
   */
  readonly getAccessToken: (request: SessionRequest, provider: string) => Promise<string | null>;
}
