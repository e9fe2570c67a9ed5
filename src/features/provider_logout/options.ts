/** The option of sign-outs at the OpenID Provider. */
export interface ProviderLogoutConfig {
  /**
   * Whether a sign-out here also ends the user's session at the OpenID Provider (OpenID Connect RP-Initiated Logout
   * 1.0), and whether providers may end sessions here (`backchannel`). With `true` every sign-out leads the browser to
   * the provider and back to `<mount path>/signed-out`, which has to be registered there as a post-logout redirect URI.
   * The session here ends first, whatever the provider does.
   *
   * For that, the ID token is kept in the encrypted session token, which makes the cookie larger; with sessions in a
   * database it is read from the table of accounts.
   * @default false
   */
  providerLogout?: boolean | ProviderLogoutOptions;
}

/** How sessions here and at the OpenID Provider end each other. */
export interface ProviderLogoutOptions {
  /**
   * Whether sign-outs here end the session at the provider.
   * @default true
   */
  signOut?: boolean;
  /**
   * Whether every sign-out does, also the one of the built-in page. With `false` only `auth.signOut()` with
   * `providerLogout: true`.
   * @default true
   */
  byDefault?: boolean;
  /**
   * Whether the ID token is kept and sent to the provider as `id_token_hint`. Without it many providers ask the user
   * whether to sign out, and some refuse to come back.
   * @default true
   */
  idTokenHint?: boolean;
  /**
   * Whether OpenID Providers may end sessions of their users with a POST to
   * `<mount path>/backchannel-logout/<provider>` (OpenID Connect Back-Channel Logout 1.0). Needs a `store` and
   * `revocable`, or sessions in a database and an adapter with `listSessionsByUserId()` (`withSessionList()`).
   * @default false
   */
  backchannel?: boolean;
}

/** Whether `auth.signOut()` also signs out at the provider. */
export interface ProviderLogoutAction {
  /**
   * Whether the browser also goes to the OpenID Provider, where its session ends, too, and comes back to the
   * `callbackUrl`. Needs `providerLogout` in the configuration.
   * @default what `providerLogout` says
   */
  providerLogout?: boolean;
}
