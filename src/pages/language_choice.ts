/** Which language a page or a mail is in. */
import { parseCookie } from "cookie";
import { LRUCache } from "lru-cache";
import { preferredLanguage } from "../http/preferences.ts";
import { parseQuery, queryOf } from "../http/query.ts";
import type { FastifyAuthPages, LanguageRequest } from "../types.ts";

/** The cookie that keeps the language of `ui_locales` for the pages that follow. */
export const LANGUAGE_COOKIE = "authjs.ui-locales";

/** Values of `Accept-Language` in use. */
const MOST_ACCEPTED = 200;

/**
 * Chooses the language for a request: that of the application's function, of `ui_locales` (OpenID Connect
 * Core section 3.1.2.1), of an earlier `ui_locales`, or of `Accept-Language`; else English.
 */
export class LanguageChoice {
  readonly #configured: FastifyAuthPages["language"];
  readonly #available: readonly string[];
  /** By what `Accept-Language` says. */
  readonly #accepted = new LRUCache<string, { readonly tag: string | undefined }>({
    max: MOST_ACCEPTED,
    memoMethod: (accepted) => ({ tag: this.#preferred(accepted) }),
  });

  /**
   * @param configured The language of the configuration, or the function that tells it.
   * @param available Language tags.
   */
  constructor(configured: FastifyAuthPages["language"], available: readonly string[]) {
    this.#configured = configured;
    this.#available = available;
  }

  /** The tag of the language, and whether the request named it in `ui_locales`. */
  async choose(request: LanguageRequest): Promise<{ readonly tag: string; readonly asked: boolean }> {
    const configured = this.#configured;
    const own = this.match(typeof configured === "function" ? await configured(request) : configured);
    const asked = own === undefined ? this.#askedFor(request.url) : undefined;
    const tag = own ?? asked ?? this.#keptFor(request) ?? this.#acceptedBy(request) ?? "en";
    return { tag, asked: asked !== undefined };
  }

  #askedFor(url: string): string | undefined {
    const locales = parseQuery(queryOf(url)).get("ui_locales");
    return locales === null ? undefined : this.match(...locales.trim().split(/\s+/));
  }

  #keptFor({ headers }: LanguageRequest): string | undefined {
    const kept = parseCookie(String(headers.cookie ?? ""))[LANGUAGE_COOKIE];
    return this.#available.find((tag) => tag === kept);
  }

  #acceptedBy({ headers }: LanguageRequest): string | undefined {
    const accepted = headers["accept-language"];
    if (accepted === undefined) return undefined;
    return this.#accepted.memo(String(accepted)).tag;
  }

  #preferred(languages: string): string | undefined {
    let read = languages.split(",", MOST_RANGES).join(",");
    for (const [tags, near] of NEAR) {
      read = read.replaceAll(tags, (tag) => {
        const isAvailable = this.#available.some((available) =>
          available.toLowerCase() === tag.toLowerCase()
        );
        return isAvailable ? tag : near;
      });
    }
    return preferredLanguage(read, this.#available);
  }

  /** The available language for the first of these tags that has one. */
  match(...tags: (string | undefined)[]): string | undefined {
    for (const tag of tags.slice(0, MOST_LOCALES)) {
      if (tag === undefined || !/^[a-z\d-]+$/i.test(tag)) continue;
      const found = this.#preferred(tag);
      if (found !== undefined) return found;
    }
  }
}

/** Of `ui_locales`, more are not read. */
const MOST_LOCALES = 10;

/** Of `Accept-Language`, more are not read. */
const MOST_RANGES = 50;

/** Tags that do not begin with that of the language whose readers they have. */
const NEAR: readonly (readonly [RegExp, string])[] = [
  // In traditional characters the tag names the region more often than the script (BCP 47).
  [/\bzh-(?:hant(?:-[a-z]{2})?|tw|hk|mo)\b/gi, "zh-Hant"],
  // Norwegian, and Nynorsk.
  [/(?<![\w-])n[no](?:-no)?(?![\w-])/gi, "nb"],
  // Where Portuguese is written as in Portugal (CLDR, parent locales).
  [/\bpt-(?:ao|ch|cv|gq|gw|lu|mo|mz|st|tl)\b/gi, "pt-PT"],
];
