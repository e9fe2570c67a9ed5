/** The options of sign-outs at the OpenID Provider, in both directions. */
export interface ProviderLogoutConfig {
  /**
   * Whether a sign-out also ends the user's session at the OpenID Provider (OpenID Connect RP-Initiated
   * Logout 1.0): the browser goes there, and comes back to `<mount path>/signed-out`, which has to be
   * registered there as a post-logout redirect URI. The session here ends first, whatever the provider does.
   *
   * The ID token is kept for that in the session token, which is encrypted and gets larger by it; with
   * sessions in a database it is taken from the table of accounts.
   *
   * @default false
   */
  providerSignOut?: boolean | ProviderSignOutOptions;
  /**
   * Whether OpenID Providers may end sessions of their users with a POST to
   * `<mount path>/backchannel-logout/<provider>` (OpenID Connect Back-Channel Logout 1.0). Needs a
   * `store` and `revocable`, or sessions in a database and an adapter with `listSessionsByUserId()`
   * (`withSessionList()`).
   *
   * @default false
   */
  backchannelLogout?: boolean;
}

/** How a sign-out ends the session at the OpenID Provider. */
export interface ProviderSignOutOptions {
  /**
   * Whether every sign-out does, also the one of the built-in page. With `false` only `auth.signOut()` with
   * `providerSignOut: true`.
   *
   * @default true
   */
  byDefault?: boolean;
  /**
   * Whether the ID token is kept and sent to the provider as `id_token_hint`. Without it many providers ask
   * the user whether to sign out, and some refuse to come back.
   *
   * @default true
   */
  idTokenHint?: boolean;
}

/** The option of `auth.signOut()`. */
export interface ProviderSignOutAction {
  /**
   * Whether the browser also goes to the OpenID Provider, where its session ends, too, and comes back to the
   * callback URL. Needs `providerSignOut` in the configuration.
   *
   * @default what `providerSignOut` says
   */
  providerSignOut?: boolean;
}
