/** The option of guards that require how and when users signed in. */
export interface StepUpConfig {
  /**
   * Whether it is kept how and when the users of sessions signed in, by the claims `auth_time`, `acr` and
   * `amr` of the ID token, for guards with `maxAge`, `acr` or `amr`: in the session token, or with the
   * strategy "database" in a cookie that is signed together with it.
   *
   * @default false
   */
  stepUp?: boolean;
}

/** The options of such guards. */
export interface StepUpGuardOptions {
  /**
   * How long ago the user may have been authenticated at most, in seconds. Otherwise a browser that requests
   * a page is sent to sign in again, with `max_age`; other requests get a 401
   * (`FST_AUTHJS_STEP_UP_REQUIRED`). Needs `stepUp: true` in the configuration, as `acr` and `amr` do.
   *
   * @default any time ago
   */
  maxAge?: number;
  /**
   * The authentication context class, or several of which one is enough: the claim `acr` of the ID token. It
   * is asked for as `acr_values`.
   *
   * @default any
   */
  acr?: string | readonly string[];
  /**
   * The authentication methods, all of which must have been used, such as `"mfa"` or `"hwk"` (RFC 8176): the
   * claim `amr` of the ID token.
   *
   * @default any
   */
  amr?: string | readonly string[];
}
