/** The texts of the built-in pages and mails: each language complete, and none different from its source. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { readTexts } from "../../../scripts/page_texts.ts";
import { Languages } from "../../../src/pages/language.ts";
import { en } from "../../../src/pages/texts/en.ts";

const sources = await readTexts();
const languages = new Languages();
const textsIn = (tag: string) => languages.choose({ headers: { "accept-language": tag }, url: "/" });
const placeholders = (text: string) => (text.match(/\{\w+\}/g) ?? []).sort();

Deno.test("there are texts in 28 languages, three of them written from right to left", async () => {
  assertEquals(Object.keys(sources).length, 27, "and English");
  const languages = await Promise.all(Object.keys(sources).map(textsIn));
  assertEquals(languages.filter(({ direction }) => direction === "rtl").map(({ tag }) => tag), [
    "ar",
    "fa",
    "he",
  ]);
});

for (const [tag, texts] of Object.entries(sources)) {
  Deno.test(`the texts in ${tag} have the keys of English, and the same words in braces`, () => {
    assertEquals(Object.keys(texts).sort(), Object.keys(en).sort());
    for (const [key, text] of Object.entries(en)) {
      assertEquals(placeholders(texts[key]!), placeholders(text), key);
      assertNotEquals(texts[key]!.trim(), "", key);
      assertEquals(texts[key], texts[key]!.trim(), key);
      if (!SAME.has(`${tag} ${key}`)) assertNotEquals(texts[key], text, key);
    }
  });

  Deno.test(`the package has the texts in ${tag} as they are in scripts/page_assets/texts/`, async () => {
    const language = await textsIn(tag);
    assertEquals(language.tag, tag);
    assertEquals({ ...language.texts }, texts as never);
  });
}

/** The words of a text, for comparing. */
const wordsOf = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}\p{M} ]/gu, "");

for (const [tag, texts] of Object.entries({ en, ...sources } as Record<string, Record<string, string>>)) {
  Deno.test(`no text of an error in ${tag} says its title again`, () => {
    for (const key of Object.keys(texts).filter((key) => /^error\.\w+\.title$/.test(key))) {
      const [title, text] = [texts[key]!, texts[key.replace(".title", ".text")]!];
      assert(!wordsOf(text).includes(wordsOf(title)), `${key}: ${text}`);
    }
  });
}

/** Words that are the same in English. */
const SAME: ReadonlySet<string> = new Set(["it field.password"]);
