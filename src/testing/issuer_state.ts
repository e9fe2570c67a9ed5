/** What the routes of the test issuer work with. */
import type { Grants, IssuerUser } from "./issuer_grants.ts";
import type { SigningKey } from "./issuer_tokens.ts";

/** A running issuer. */
export interface IssuerState {
  /** The issuer, without a trailing slash. */
  readonly url: string;
  /** The life of access tokens and ID tokens, in seconds. */
  readonly lifetime: number;
  readonly key: SigningKey;
  readonly grants: Grants;
  /** The requests so far, as `POST /token`. */
  readonly requests: string[];
  /** Who signs in next. */
  user: IssuerUser;
  /** What the authorization endpoint answers with instead of a code. */
  error: string | undefined;
}
