/** The option of the mark on the sign-in page. */
export interface LastUsedPages {
  /**
   * Whether the built-in sign-in page marks the method that the browser used last. If there are several, a
   * cookie with the id of the provider, and nothing else, is kept for 400 days.
   *
   * @default true
   */
  lastUsed?: boolean;
}
