/** What a language has texts for. */
import type { en } from "./en.ts";

/** The key of a text. */
export type TextKey = keyof typeof en;

/** Every text in one language. */
export type Texts = Readonly<Record<TextKey, string>>;

/**
 * A text with its words in braces filled in.
 *
 * @param text Such as `"Sign in with {provider}"`.
 * @param words Such as `{ provider: "GitHub" }`; a word that is missing stays as it is.
 */
export function fill(text: string, words: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (braces, word) => Object.hasOwn(words, word) ? words[word]! : braces);
}
