/** The language of a page or a mail. */
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions, LanguageRequest } from "../types.ts";
import { later } from "../utils/later.ts";
import type { LanguageChoice } from "./language_choice.ts";
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

/** The languages of one configuration. */
export class Languages {
  readonly #options: LanguageOptions;
  readonly #available: readonly string[];
  readonly #languages = new Map<string, Omit<Language, "asked">>();
  /** Loaded with the first page or mail. */
  readonly #choice: () => Promise<LanguageChoice> = later(async () => {
    const { LanguageChoice } = await import("./language_choice.ts");
    const choice = new LanguageChoice(this.#options.language, this.#available);
    return () => choice;
  });
  #unpacked: readonly string[][] | undefined;

  /** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for an unknown language, key or placeholder. */
  constructor(options: LanguageOptions = {}) {
    const { language, texts = {} } = options;
    const tags = Object.entries(texts).map(([tag, own]) => assertTexts(tag, own));
    this.#options = options;
    this.#available = [...new Set(["en", ...PACKED_LANGUAGES, ...tags])];
    if (language !== undefined && typeof language !== "function" && typeof language !== "string") {
      throw this.#unknown(language);
    }
  }

  /** What is wrong with the language of the configuration, if something is. */
  async problem(): Promise<FastifyAuthError | undefined> {
    const { language } = this.#options;
    if (typeof language !== "string") return undefined;
    return (await this.#choice()).match(language) === undefined ? this.#unknown(language) : undefined;
  }

  /** The language for a request: see {@linkcode LanguageChoice}. */
  async choose(request: LanguageRequest): Promise<Language> {
    const { tag, asked } = (await this.#choice()).choose(request);
    return { ...await this.#language(tag), asked };
  }

  #unknown(language: unknown): FastifyAuthError {
    return invalid(
      `\`language\` is ${JSON.stringify(language)}: write a function, or one of ${
        this.#available.join(", ")
      }. \`texts\` can add another.`,
    );
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
