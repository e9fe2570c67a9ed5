/** The type of a session, inferred from `callbacks.session`. */
import type { AdapterUser } from "@auth/core/adapters";
import type { Awaitable } from "@auth/core/types";
import type { DefaultSession, FastifyAuthConfig, JWT, Session, User } from "./types.ts";

/** What `callbacks.session` is called with. */
export interface SessionCallbackParams {
  /** The session that Auth.js makes: the name, the address and the picture of the user, and when it ends. */
  session: Session & { user: User };
  /** The claims of the session token. Only with the strategy "jwt". */
  token: JWT;
  /** The user's row. Only with the strategy "database". */
  user: AdapterUser;
  /** The data of an update, unchecked: over HTTP anything that the browser sends. */
  newSession: unknown;
  /** `"update"` if the session is updated. */
  trigger?: "update";
}

/**
 * The configuration of `createAuth()`: a {@linkcode FastifyAuthConfig}, in which the type of the session
 * follows from what `callbacks.session` returns.
 */
export interface CreateAuthConfig<Returned extends DefaultSession = Session>
  extends Omit<FastifyAuthConfig, "callbacks"> {
  /** The callbacks of Auth.js. */
  callbacks?: Omit<NonNullable<FastifyAuthConfig["callbacks"]>, "session"> & {
    /** Makes the session from the claims of the token or from the rows of the database. */
    session?(params: SessionCallbackParams): Awaitable<Returned>;
  };
}

/**
 * The session that is read if `callbacks.session` returns `Returned`: as it arrives over HTTP, and with a
 * user, without which it is none.
 *
 * If the callback says no more than core's types do, it is `Session`, which an application may extend.
 */
export type SessionOf<Returned extends DefaultSession> = [DefaultSession] extends [Returned]
  ? Session & { user: User }
  : JsonOf<Returned & { user: NonNullable<Returned["user"]> }>;

/** A value as JSON delivers it: dates are strings, functions are gone, and `toJSON()` counts if there is one. */
export type JsonOf<Value> = 0 extends 1 & Value ? Value
  : Value extends { toJSON(...args: never[]): infer Own } ? JsonMembersOf<Own>
  : JsonMembersOf<Value>;

/** What JSON delivers of a value without asking for its `toJSON()`. */
export type JsonMembersOf<Value> = 0 extends 1 & Value ? Value
  : Value extends string | number | boolean | null | undefined ? Value
  : Value extends readonly unknown[] ? { [Index in keyof Value]: JsonOf<Value[Index]> }
  : Value extends object ? {
      [Key in keyof Value as Value[Key] extends ((...args: never[]) => unknown) | symbol ? never : Key]:
        JsonOf<Value[Key]>;
    }
  : Value;
