/** The option of sessions that can be listed and ended from elsewhere. */
export interface SessionsConfig {
  /**
   * Whether each read of a session in a JWT asks the `store` whether it has ended: `listSessions()` and
   * `revokeSession()` of `createAuth()` then work without a database, and a sign-out ends copies of the
   * cookie, too. While the store fails, `getSession()` returns `null` and guards respond with 503. These calls
   * have the timeout of `adapterTimeout`.
   *
   * @default false: a JWT is valid until it expires
   */
  revocable?: boolean;
}
