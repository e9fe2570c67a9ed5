/** What a feature adds to sessions. */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { JWT } from "@auth/core/jwt";
import type { IncomingHttpHeaders } from "node:http";
import type { CookieDefinition, CookieSettings } from "../config/cookies.ts";
import type { NoticeCode } from "../config/notices.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import type { KnownSessions } from "./known_session.ts";

export interface NamedSession {
  readonly claims: JWT;
  readonly name: string;
}

export type SignInParams = Parameters<NonNullable<NonNullable<AuthConfig["callbacks"]>["jwt"]>>[0];

export interface SessionSignIn {
  readonly params: SignInParams;
  readonly held: JWT | undefined;
  /** Whether the account, or the passkey, was linked in this sign-in. */
  readonly linksAccount: boolean;
  /** Whether it was linked to the user of the session of the browser: then that session goes on. */
  readonly goesOn: boolean;
  readonly warnOnce: (what: string, message: string, code: NoticeCode) => void;
}

export interface SignInWithRow extends SessionSignIn {
  /** The token of the row, and that of the session which the browser had. */
  readonly token: string;
  readonly heldToken: string;
  readonly cookies: string;
  readonly claims?: JWT | undefined;
  readonly settings: RowSettings;
  readonly adapter: Adapter;
}

/** What the cookies beside that of the session are made with. */
export interface RowSettings {
  readonly jwt: { readonly secret: string | string[] };
  besideCookie(definition: CookieDefinition): CookieSettings;
}

export interface SessionUse {
  readonly userAgent: string | undefined;
  /** Is told of what fails and changes nothing. */
  readonly report: (error: Error) => void;
}

export interface SessionHooks {
  /** The session token in a header, which counts in place of the cookie; empty for what cannot be a token. */
  findToken?(headers: IncomingHttpHeaders): string | undefined;
  /** The authentication scheme of such tokens, for the challenge of a guard. */
  readonly scheme?: string;
  /** Whether claims of sessions are refreshed. Reads and processes take turns then. */
  readonly refreshes?: boolean;
  /** Claims that stay on the server: a session never has them. */
  readonly hiddenClaims?: readonly string[];
  /** Claims of a session that its next token has, whatever the `jwt` callback returns. */
  keptClaims?(session: NamedSession, isDue: boolean): JWT;
  /** A session begins, by a sign-in or as that of a token for a header: adds claims to its token. */
  onBegin?(claims: JWT, name: string): Promise<JWT>;
  onSignIn?(claims: JWT, signIn: SessionSignIn): JWT;
  /** A token was sealed. What it throws for a new session refuses that; else it is logged. */
  onSealed?(session: NamedSession, isNew: boolean, userAgent: string | undefined): Promise<void>;
  /** A user has signed in to a row. Gives cookies to set beside that of the session. */
  onRow?(signIn: SignInWithRow): Promise<readonly SetCookie[]>;
  /** Those cookies, which a sign-out removes. */
  readonly rowCookies?: readonly CookieDefinition[];
  /** Whether a session has ended elsewhere; throws if that is not known. */
  hasEnded?(session: NamedSession, use: SessionUse | undefined): Promise<boolean>;
  onEnd?(session: NamedSession): Promise<void>;
  readonly known?: KnownSessions;
  /** What the token of a row ends with, besides the random part, for a user who signs in. */
  rowTag?(signIn: SessionSignIn): string;
  /** The same end for another token of the session. */
  tagOfRow?(token: string): string;
}

export async function hasEndedElsewhere(
  session: NamedSession,
  hooks: readonly SessionHooks[],
  use?: SessionUse,
): Promise<boolean> {
  for (const { hasEnded } of hooks) if (await hasEnded?.(session, use)) return true;
  return false;
}
