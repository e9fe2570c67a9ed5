/** What the ways to keep sessions have in common when the sessions of a user are listed and ended. */
import { Buffer } from "node:buffer";
import { decodeBase64Url } from "../utils/base64url.ts";

/** A session of a user. */
export interface KnownSession {
  /** The id of its user. */
  readonly user: string;
  /** Names it among the sessions of its user. It is no session token. */
  readonly id: string;
  readonly expires: Date;
  readonly createdAt?: Date | undefined;
  readonly lastSeenAt?: Date | undefined;
  readonly userAgent?: string | undefined;
}

/** The sessions of all users. */
export interface KnownSessions {
  /** Whose session this token is of, and which; `undefined` where that is not known. */
  owner(token: string): Promise<Pick<KnownSession, "user" | "id"> | undefined>;
  /** The sessions of a user, in any order. */
  list(user: string): Promise<KnownSession[]>;
  /** Ends a session. Resolves with whether there was one. */
  end(user: string, id: string): Promise<boolean>;
  /** Ends all sessions of a user but one. */
  endAll(user: string, except: string | undefined): Promise<void>;
}

/** The id that an application is given: it names the user, too, by whom adapters and stores find sessions. */
export function sessionIdOf({ user, id }: Pick<KnownSession, "user" | "id">): string {
  return `${Buffer.from(user).toString("base64url")}.${id}`;
}

/** What such an id names; `undefined` for anything else. */
export function namedBy(sessionId: string): Pick<KnownSession, "user" | "id"> | undefined {
  const at = sessionId.indexOf(".");
  const user = decodeBase64Url(sessionId.slice(0, Math.max(0, at)))?.toString();
  const id = sessionId.slice(at + 1);
  return user && id ? { user, id } : undefined;
}
