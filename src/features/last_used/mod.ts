/** Marks the sign-in method that a browser used last. */
import { parseCookie } from "cookie";
import { COOKIE_MAX_AGE } from "../../config/lifetime.ts";
import type { Feature } from "../feature.ts";

/** Whether the sign-in page marks the method that was used last: an option of `pages`. */
export interface LastUsedPages {
  /**
   * Whether the built-in sign-in page marks the method that the browser used last. If there are several, a cookie with
   * the id of the provider, and nothing else, is kept for 400 days.
   * @default true
   */
  lastUsed?: boolean;
}

const COOKIE = { name: "last-used" };

export const lastUsed: Feature = {
  configure: () => ({
    cookies: [COOKIE],
    async onAnswer(context, answer) {
      const given = await answer();
      const id = context.provider?.id;
      // An account that is linked signs nobody in.
      if (id === undefined || !given.session || given.goesOn) return given;
      const { name, options } = context.settings.ownCookie(COOKIE);
      const cookie = { name, value: id, options: { maxAge: COOKIE_MAX_AGE, ...options } };
      return { ...given, cookies: [...given.cookies, cookie] };
    },
    onSignInPage(context) {
      const id = parseCookie(context.cookies)[context.settings.ownCookie(COOKIE).name];
      return context.config.providers.has(id ?? "") ? { lastUsed: id } : {};
    },
  }),
};
