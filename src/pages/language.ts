/** The language of a page or a mail. */
import { parseCookie } from "cookie";
import { FastifyAuthError } from "../errors.ts";
import { preferredLanguage } from "../http/accept.ts";
import { parseQuery, queryOf } from "../http/query.ts";
import type { FastifyAuthOptions, LanguageRequest } from "../types.ts";
import { RecentValues } from "../utils/recent_values.ts";
import { en } from "./texts/en.ts";
import { PACKED_LANGUAGES, PACKED_TEXTS } from "./texts/packed.ts";
import type { Texts } from "./texts/texts.ts";

/** A language, and the texts in it. */
export interface Language {
  /** A language tag (BCP 47) for the `lang` attribute, such as `"en"` or `"pt-BR"`. */
  readonly tag: string;
  /** The direction of its script. */
  readonly direction: "ltr" | "rtl";
  readonly texts: Texts;
  /** Whether the request named it in `ui_locales`. */
  readonly asked: boolean;
}

/** What the application says about languages. */
export type LanguageOptions = Pick<FastifyAuthOptions, "language" | "texts">;

/** The cookie that keeps the language of `ui_locales` for the pages that follow. */
export const LANGUAGE_COOKIE = "authjs.ui-locales";

/** Values of `Accept-Language` in use. */
const MOST_ACCEPTED = 200;

/** The languages of one configuration. */
export class Languages {
  readonly #options: LanguageOptions;
  readonly #available: readonly string[];
  readonly #languages = new Map<string, Omit<Language, "asked">>();
  /** By what `Accept-Language` says. */
  readonly #accepted = new RecentValues<{ readonly tag: string | undefined }>(MOST_ACCEPTED);
  #unpacked: readonly string[][] | undefined;

  /** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for an unknown language, key or placeholder. */
  constructor(options: LanguageOptions = {}) {
    const { language, texts = {} } = options;
    const tags = Object.entries(texts).map(([tag, own]) => assertTexts(tag, own));
    this.#options = options;
    this.#available = [...new Set(["en", ...PACKED_LANGUAGES, ...tags])];
    if (language === undefined || typeof language === "function") return;
    if (typeof language !== "string" || this.#match(language) === undefined) {
      throw invalid(
        `\`language\` is ${JSON.stringify(language)}: write a function, or one of ${
          this.#available.join(", ")
        }. \`texts\` can add another.`,
      );
    }
  }

  /**
   * The language for a request: that of the application's function, of `ui_locales` (OpenID Connect Core
   * section 3.1.2.1), of an earlier `ui_locales`, or of `Accept-Language`; else English.
   */
  async choose(request: LanguageRequest): Promise<Language> {
    const { language } = this.#options;
    const own = this.#match(typeof language === "function" ? language(request) : language);
    const asked = own === undefined ? this.#askedFor(request.url) : undefined;
    const tag = own ?? asked ?? this.#keptFor(request) ?? this.#acceptedBy(request) ?? "en";
    return { ...await this.#language(tag), asked: asked !== undefined };
  }

  #askedFor(url: string): string | undefined {
    const locales = parseQuery(queryOf(url)).get("ui_locales");
    return locales === null ? undefined : this.#match(...locales.trim().split(/\s+/));
  }

  #keptFor({ headers }: LanguageRequest): string | undefined {
    const kept = parseCookie(String(headers.cookie ?? ""))[LANGUAGE_COOKIE];
    return this.#available.find((tag) => tag === kept);
  }

  #acceptedBy({ headers }: LanguageRequest): string | undefined {
    const accepted = headers["accept-language"];
    if (accepted === undefined) return undefined;
    return this.#accepted.get(String(accepted), () => ({ tag: this.#preferred(String(accepted)) })).tag;
  }

  /** Where Chinese is written in traditional characters, its tag names the region more often than the script. */
  #preferred(languages: string): string | undefined {
    const withScript = languages.replaceAll(TRADITIONAL, (tag) => {
      const isAvailable = this.#available.some((available) => available.toLowerCase() === tag.toLowerCase());
      return isAvailable ? tag : "zh-Hant";
    });
    return preferredLanguage(withScript, this.#available);
  }

  /** The available language for the first of these tags that has one. */
  #match(...tags: (string | undefined)[]): string | undefined {
    for (const tag of tags.slice(0, MOST_LOCALES)) {
      if (tag === undefined || !/^[a-z\d-]+$/i.test(tag)) continue;
      const found = this.#preferred(tag);
      if (found !== undefined) return found;
    }
  }

  async #language(tag: string): Promise<Omit<Language, "asked">> {
    let language = this.#languages.get(tag);
    if (language === undefined) {
      const texts = { ...await this.#builtIn(tag), ...this.#options.texts?.[tag] };
      language = { tag, direction: RIGHT_TO_LEFT.test(tag) ? "rtl" : "ltr", texts };
      this.#languages.set(tag, language);
    }
    return language;
  }

  /** The built-in texts. English stands in for those that a language lacks. */
  async #builtIn(tag: string): Promise<Texts> {
    const index = PACKED_LANGUAGES.indexOf(tag);
    if (index === -1) return en;
    const [keys, ...languages] = this.#unpacked ??= await unpackTexts();
    const known = languages[index]!.map((text, i) => [keys![i], text]).filter(([, text]) => text !== null);
    return { ...en, ...Object.fromEntries(known) };
  }
}

async function unpackTexts(): Promise<readonly string[][]> {
  const { unpack } = await import("../utils/unpack.ts");
  return JSON.parse(unpack(PACKED_TEXTS));
}

/** Of `ui_locales`, more are not read. */
const MOST_LOCALES = 10;

/** Chinese in traditional characters (BCP 47). */
const TRADITIONAL = /\bzh-(?:hant(?:-[a-z]{2})?|tw|hk|mo)\b/gi;

/** Languages whose usual script is written from right to left. */
const RIGHT_TO_LEFT = /^(?:ar|ckb|dv|fa|he|ps|sd|ug|ur|yi)\b/i;

const PLACEHOLDER = /\{\w+\}/g;

function assertTexts(tag: string, texts: Partial<Texts>): string {
  if (!/^[a-z]{2,8}(?:-[a-z\d]{2,8})*$/i.test(tag) || typeof texts !== "object" || texts === null) {
    throw invalid(`\`texts\` has ${JSON.stringify(tag)}: write texts by language tag, as in ${EXAMPLE}.`);
  }
  for (const [key, text] of Object.entries(texts)) {
    if (!Object.hasOwn(en, key) || typeof text !== "string") {
      throw invalid(`\`texts.${tag}\` has ${JSON.stringify(key)}, which is no text of the pages or mails.`);
    }
    const known: readonly string[] = en[key as keyof Texts].match(PLACEHOLDER) ?? [];
    const unknown = (text.match(PLACEHOLDER) ?? []).find((word) => !known.includes(word));
    if (unknown !== undefined) {
      const words = known.length === 0 ? "has none" : `has ${known.join(" and ")}`;
      throw invalid(`\`texts.${tag}["${key}"]\` has ${unknown}; this text ${words}.`);
    }
  }
  return tag;
}

const EXAMPLE = '{ en: { "signIn.title": "Welcome" } }';

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message);
}
