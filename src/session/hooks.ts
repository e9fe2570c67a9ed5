/** What a feature adds to sessions. Each hook has no effect if a feature leaves it out. */
import type { IncomingHttpHeaders } from "node:http";

export interface SessionHooks {
  /**
   * The session token of a request that carries it in a header, in place of the cookie: an empty string for what
   * cannot be a token. `undefined` for a request that the feature does not know.
   */
  findToken?(headers: IncomingHttpHeaders): string | undefined;
  /** The authentication scheme of such tokens, for the challenge of a guard. */
  readonly scheme?: string;
}
