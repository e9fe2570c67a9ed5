/**
 * The session cookie under another name, for configurations in which its own begins that of another cookie of
 * Auth.js.
 *
 * Core takes every cookie whose name starts with that of the session cookie for a part of the session. Called
 * "auth", the session would include "authjs.csrf-token": an update would end it, and each sign-in remove the
 * CSRF cookie.
 */
import type { AuthConfig } from "@auth/core";
import { type SetCookie, withNameOfSession } from "../session/cookie.ts";
import type { RequestContext } from "./context.ts";

/** What core is given, and gives, where the session cookie has another name for it. */
export interface SessionName {
  /** The Cookie header. */
  readonly header: string;
  /** The cookie settings. */
  readonly cookies: AuthConfig["cookies"];
  /** The functions for tokens: keys are derived for the configured name. */
  readonly jwt: NonNullable<AuthConfig["jwt"]>;
  /** The cookies of core's answer under their own names. */
  restore(cookies: readonly SetCookie[]): readonly SetCookie[];
}

/** The session under the name that core is to see. */
export function sessionNameForCore(
  context: RequestContext,
  cookies: AuthConfig["cookies"],
  jwt: NonNullable<AuthConfig["jwt"]>,
): SessionName {
  const { cookie: { name, options }, nameInCore } = context.settings;
  if (name === nameInCore) return { header: context.cookies, cookies, jwt, restore: (cookies) => cookies };
  const saltOf = (salt: string) => salt === nameInCore ? name : salt;
  const { encode, decode } = jwt;
  return {
    header: withNameOfSession(context.cookies, name, nameInCore),
    cookies: { ...cookies, sessionToken: { name: nameInCore, options: options as object } },
    jwt: {
      ...jwt,
      ...(encode && { encode: (params) => encode({ ...params, salt: saltOf(params.salt) }) }),
      ...(decode && { decode: (params) => decode({ ...params, salt: saltOf(params.salt) }) }),
    },
    restore: (cookies) =>
      cookies.map((cookie) =>
        cookie.name.startsWith(nameInCore)
          ? { ...cookie, name: name + cookie.name.slice(nameInCore.length) }
          : cookie
      ),
  };
}
