/** Which language a page or a mail is in. */
import { LRUCache } from "lru-cache";
import { preferredLanguage } from "../http/preferences.ts";
import { parseQuery, queryOf } from "../http/request.ts";
import type { FastifyAuthPages, LanguageRequest } from "../types.ts";
import { keptLanguage } from "./language_cookie.ts";

/** Values of `Accept-Language` in use. */
const MOST_ACCEPTED = 200;

export interface ChosenLanguage {
  /** A language tag (BCP 47) for the `lang` attribute, such as `"en"` or `"pt-BR"`. */
  readonly tag: string;
  /** The parameter of the address that named it. */
  readonly asked?: "lang" | "ui_locales";
}

export interface LanguageName {
  readonly tag: string;
  /** What it calls itself. */
  readonly name: string;
}

/**
 * Chooses the language for a request: that of the application's function, of `lang`, of `ui_locales` (OpenID Connect
 * Core section 3.1.2.1), of an earlier one of these, or of `Accept-Language`; else English.
 */
export class LanguageChoice {
  readonly #configured: FastifyAuthPages["language"];
  readonly #available: readonly string[];
  /** By what `Accept-Language` says. */
  readonly #accepted = new LRUCache<string, { readonly tag: string | undefined }>({
    max: MOST_ACCEPTED,
    memoMethod: (accepted) => ({ tag: this.#preferred(accepted) }),
  });

  constructor(configured: FastifyAuthPages["language"], available: readonly string[]) {
    this.#configured = configured;
    this.#available = available;
  }

  async choose(request: LanguageRequest): Promise<ChosenLanguage> {
    const configured = this.#configured;
    const own = this.match(typeof configured === "function" ? await configured(request) : configured);
    if (own !== undefined) return { tag: own };
    const query = parseQuery(queryOf(request.url));
    for (const asked of ["lang", "ui_locales"] as const) {
      const tag = this.match(...(query.get(asked) ?? "").trim().split(/\s+/));
      if (tag !== undefined) return { tag, asked };
    }
    const { cookie = "", "accept-language": accepted } = request.headers;
    const kept = keptLanguage(String(cookie));
    if (kept !== undefined && this.#available.includes(kept)) return { tag: kept };
    return { tag: (accepted === undefined ? undefined : this.#accepted.memo(String(accepted)).tag) ?? "en" };
  }

  /** The languages by their names, in the order of these. */
  names(): readonly LanguageName[] {
    return this.#available.map((tag) => ({ tag, name: nameOf(tag) }))
      .sort((a, b) => a.name.localeCompare(b.name, "en"));
  }

  #preferred(languages: string): string | undefined {
    let read = languages.split(",", MOST_RANGES).join(",");
    for (const [tags, near] of NEAR) {
      read = read.replaceAll(tags, (tag) => {
        const isAvailable = this.#available.some((available) => available.toLowerCase() === tag.toLowerCase());
        return isAvailable ? tag : near;
      });
    }
    return preferredLanguage(read, this.#available);
  }

  /** The available language for the first of these tags that has one. */
  match(...tags: (string | undefined)[]): string | undefined {
    for (const tag of tags.slice(0, MOST_LOCALES)) {
      if (typeof tag !== "string" || !/^[a-z\d-]+$/i.test(tag)) continue;
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

/** Tags that say less than the texts: the others of these languages are there, too. */
const WRITTEN: ReadonlyMap<string, string> = new Map([["pt", "pt-BR"], ["zh", "zh-Hans"]]);

function nameOf(tag: string): string {
  const name = new Intl.DisplayNames([tag], { type: "language" }).of(WRITTEN.get(tag) ?? tag) ?? tag;
  const [first = "", ...rest] = name;
  return first.toLocaleUpperCase(tag) + rest.join("");
}
