/** The option of bearer tokens. */
export interface BearerConfig {
  /**
   * Whether bearer tokens are accepted in `Authorization: Bearer`, for clients without cookies, such as
   * mobile and command-line programs. `POST <mount path>/token` then issues one to a signed-in user. `maxAge`
   * is how long it lives, in seconds, at most as long as a session; it is not renewed. Such a header counts
   * in place of the session cookie.
   *
   * @default false
   */
  bearer?: boolean | { maxAge?: number };
}
