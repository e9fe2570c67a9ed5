/** The language of a page or a mail. */
import { type FastifyAuthError, invalidConfig } from "../errors.ts";
import type { FastifyAuthPages, LanguageRequest } from "../types.ts";
import { later } from "../utils/later.ts";
import type { ChosenLanguage, LanguageChoice, LanguageName } from "./language_choice.ts";
import { en } from "./texts/en.ts";
import { PACKED_LANGUAGES } from "./texts/languages.ts";
import type { Texts } from "./texts/texts.ts";

export type Language = ChosenLanguage & Readonly<{ direction: "ltr" | "rtl"; texts: Texts }>;
type LanguageOptions = Pick<FastifyAuthPages, "language" | "languageMenu" | "texts">;

export class Languages {
  readonly #options: LanguageOptions;
  /** The texts of the application, by canonical language tag. */
  readonly #texts: ReadonlyMap<string, Partial<Texts>>;
  readonly #available: readonly string[];
  readonly #languages = new Map<string, Omit<Language, "asked">>();
  /** Loaded with the first page or mail. */
  readonly #choice: () => Promise<LanguageChoice> = later(async () => {
    const { LanguageChoice } = await import("./language_choice.ts");
    const choice = new LanguageChoice(this.#options.language, this.#available);
    return () => choice;
  });
  #unpacked: readonly string[][] | undefined;
  /** The languages of the menu; empty without one. */
  readonly menu: () => Promise<readonly LanguageName[]> = later(async () => {
    const { language, languageMenu = language === undefined } = this.#options;
    if (!languageMenu) return () => [];
    const names = (await this.#choice()).names();
    return () => names;
  });

  /** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for an unknown language, key or placeholder. */
  constructor(options: LanguageOptions = {}) {
    const { language, texts = {} } = options;
    this.#options = options;
    const byTag = new Map<string, Partial<Texts>>();
    for (const [tag, own] of Object.entries(texts)) {
      const canonical = assertTexts(tag, own);
      byTag.set(canonical, { ...byTag.get(canonical), ...own });
    }
    this.#texts = byTag;
    this.#available = [...new Set([...BUILT_IN, ...this.#texts.keys()])];
    if (language !== undefined && typeof language !== "function" && typeof language !== "string") {
      throw this.#unknown(language);
    }
  }

  async problem(): Promise<FastifyAuthError | undefined> {
    const { language } = this.#options;
    if (typeof language !== "string") return undefined;
    return (await this.#choice()).match(language) === undefined ? this.#unknown(language) : undefined;
  }

  async choose(request: LanguageRequest): Promise<Language> {
    const choice = await (await this.#choice()).choose(request);
    return { ...await this.#language(choice.tag), ...choice };
  }

  #unknown(language: unknown): FastifyAuthError {
    return invalidConfig(
      `\`pages.language\` is ${JSON.stringify(language)}: write a function, or one of ${
        this.#available.join(", ")
      }. \`pages.texts\` can add another.`,
    );
  }

  async #language(tag: string): Promise<Omit<Language, "asked">> {
    let language = this.#languages.get(tag);
    if (language === undefined) {
      const { LanguageChoice } = await import("./language_choice.ts");
      // Its texts stand in for those that the language lacks: "pt" for "pt-BR", else English.
      const near = new LanguageChoice(undefined, BUILT_IN).match(tag) ?? "en";
      const texts = { ...await this.#builtIn(near), ...this.#texts.get(near), ...this.#texts.get(tag) };
      // Of a tag that names no script, that of the usual one.
      const { script = "" } = new Intl.Locale(tag).maximize();
      language = { tag, direction: RIGHT_TO_LEFT.test(script) ? "rtl" : "ltr", texts };
      this.#languages.set(tag, language);
    }
    return language;
  }

  /** The texts of a built-in language. English stands in for those that it lacks. */
  async #builtIn(tag: string): Promise<Texts> {
    const index = PACKED_LANGUAGES.indexOf(tag);
    if (index === -1) return en;
    if (this.#unpacked === undefined) {
      const { unpack } = await import("../utils/unpack.ts");
      const { PACKED_TEXTS } = await import("./texts/packed.ts");
      this.#unpacked = JSON.parse(unpack(PACKED_TEXTS)) as string[][];
    }
    const [keys, ...languages] = this.#unpacked;
    const known = languages[index]!.map((text, i) => [keys![i], text]).filter(([, text]) => text !== null);
    return { ...en, ...Object.fromEntries(known) };
  }
}

const BUILT_IN: readonly string[] = ["en", ...PACKED_LANGUAGES];

/** Scripts that are written from right to left (ISO 15924). */
const RIGHT_TO_LEFT = /^(?:Adlm|Arab|Hebr|Mand|Nkoo|Rohg|Samr|Syrc|Thaa)$/;

const PLACEHOLDER = /\{\w+\}/g;

/** @returns The tag in its canonical form. */
function assertTexts(tag: string, texts: Partial<Texts>): string {
  const canonical = canonicalTag(tag);
  if (canonical === undefined || typeof texts !== "object" || texts === null) {
    throw invalidConfig(`\`pages.texts\` has ${JSON.stringify(tag)}: write texts by language tag, as in ${EXAMPLE}.`);
  }
  for (const [key, text] of Object.entries(texts)) {
    if (!Object.hasOwn(en, key) || typeof text !== "string") {
      throw invalidConfig(`\`pages.texts.${tag}\` has ${JSON.stringify(key)}, which is no text of the pages or mails.`);
    }
    const known: readonly string[] = en[key as keyof Texts].match(PLACEHOLDER) ?? [];
    const unknown = (text.match(PLACEHOLDER) ?? []).find((word) => !known.includes(word));
    if (unknown !== undefined) {
      const words = known.length === 0 ? "has none" : `has ${known.join(" and ")}`;
      throw invalidConfig(`\`pages.texts.${tag}["${key}"]\` has ${unknown}; this text ${words}.`);
    }
  }
  return canonical;
}

/** "pt-BR" for "pt-br"; `undefined` for what is no language tag, or one that headers cannot be matched with. */
function canonicalTag(tag: string): string | undefined {
  if (!/^[a-z]{2,8}(?:-[a-z\d]{2,8})*$/i.test(tag)) return undefined;
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

const EXAMPLE = '{ en: { "signIn.title": "Welcome" } }';
