/** What a language has texts for. */
import type { en } from "./en.ts";

export type Texts = Readonly<Record<keyof typeof en, string>>;

/** Hebrew, Arabic and the scripts between them, which are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff]/;

/**
 * A text with its words in braces filled in. In one that is written from the right each word is isolated (UAX 9,
 * section 2.4.2): "Co." would have its full stop on the wrong side.
 * @param text Such as `"Sign in with {provider}"`.
 * @param words Such as `{ provider: "GitHub" }`; a word that is missing stays as it is.
 */
export function fill(text: string, words: Readonly<Record<string, string>>): string {
  const [before, after] = RIGHT_TO_LEFT.test(text) ? ["\u2068", "\u2069"] : ["", ""];
  return text.replace(
    /\{(\w+)\}/g,
    (braces, word) => Object.hasOwn(words, word) ? before + words[word] + after : braces,
  );
}
