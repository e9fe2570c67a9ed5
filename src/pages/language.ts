/**
 * The language of a page.
 *
 * @module
 */
import { en } from "./texts/en.ts";
import type { Texts } from "./texts/texts.ts";

/** A language, and the texts in it. */
export interface Language {
  /** A language tag (BCP 47) for the `lang` attribute, such as `"en"` or `"pt-BR"`. */
  readonly tag: string;
  /** The direction of its script. */
  readonly direction: "ltr" | "rtl";
  readonly texts: Texts;
}

/** The part of a request that the language depends on. */
export interface LanguageRequest {
  /** The headers as Node gives them. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The path and query, as received. */
  readonly url: string;
}

/** The language of the pages for a request. */
export function chooseLanguage(_request: LanguageRequest): Language {
  return { tag: "en", direction: "ltr", texts: en };
}
