/** What the ways to keep sessions have in common when the sessions of a user are listed and ended. */
import { Buffer } from "node:buffer";
import { decodeBase64Url } from "../utils/decode.ts";

/** Names a session: its user, and one of the sessions of that user. It is no session token. */
export interface SessionKey {
  readonly user: string;
  readonly id: string;
}

export interface KnownSession extends SessionKey {
  readonly expires: Date;
  readonly createdAt?: Date | undefined;
  readonly lastSeenAt?: Date | undefined;
  readonly userAgent?: string | undefined;
}

export interface KnownSessions {
  list(user: string): Promise<KnownSession[]>;
  /** Ends one. Resolves with whether it is known that it had not ended. */
  end(session: SessionKey): Promise<boolean>;
  endAll(user: string, except: string | undefined): Promise<void>;
}

/** The id that an application is given: adapters and stores find sessions by the user. */
export function sessionIdOf({ user, id }: SessionKey): string {
  return `${Buffer.from(user).toString("base64url")}.${id}`;
}

/** What such an id names; `undefined` for anything else. */
export function namedBy(sessionId: string): SessionKey | undefined {
  const [encoded = "", ...rest] = sessionId.split(".");
  const user = decodeBase64Url(encoded)?.toString();
  const id = rest.join(".");
  return user && id ? { user, id } : undefined;
}
