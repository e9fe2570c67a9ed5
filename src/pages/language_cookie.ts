/** The cookie that keeps the language of `lang` or `ui_locales` for the pages and mails that follow. */
import { parseCookie, stringifySetCookie } from "cookie";
import type { PublicOrigin } from "../http/origin.ts";

const NAME = "authjs.ui-locales";

/** In seconds. */
const YEAR = 365 * 24 * 60 * 60;

export function keptLanguage(cookieHeader: string): string | undefined {
  return parseCookie(cookieHeader)[NAME];
}

type Kept = Readonly<{ tag: string; asked?: "lang" | "ui_locales" }>;
type Place = Readonly<{ mountPath: string; origin: PublicOrigin }>;

/** The Set-Cookie header. The language of `ui_locales` is kept until the browser is closed. */
export function languageCookie({ tag, asked }: Kept, { mountPath, origin }: Place): string {
  // The path of a cookie cannot have a semicolon.
  const path = mountPath.replace(/\/[^/]*;.*$/, "") || "/";
  const lifetime = asked === "lang" ? { maxAge: YEAR } : {};
  const options = { ...lifetime, path, httpOnly: true, sameSite: "lax", secure: origin.secure } as const;
  return stringifySetCookie({ name: NAME, value: tag, ...options });
}
