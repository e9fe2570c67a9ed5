/** The texts of the pages and mails: `scripts/page_assets/texts/`, one file a language. */
import { readdir, readFile } from "node:fs/promises";
import { pack } from "./pack.ts";

const FOLDER = new URL("page_assets/texts/", import.meta.url);

/** Reads the texts of every language but English, by its tag. */
export async function readTexts(): Promise<Record<string, Record<string, string>>> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".json")).sort();
  const entries = files.map(async (file) => [
    file.replace(".json", ""),
    JSON.parse(await readFile(new URL(file, FOLDER), "utf8")),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

/** The source of `src/pages/texts/languages.ts`, without its first line. */
export async function packedLanguages(): Promise<string> {
  const languages = Object.keys(await readTexts()).join(" ");
  return `/** The languages besides English (BCP 47), in the order of their texts. */
const LANGUAGES = "${languages}";
export const PACKED_LANGUAGES: readonly string[] = LANGUAGES.split(" ");
`;
}

/** The source of `src/pages/texts/packed.ts`, without its first line. */
export async function packedTexts(): Promise<string> {
  const texts = await readTexts();
  const keys = [...new Set(Object.values(texts).flatMap((each) => Object.keys(each)))];
  const languages = Object.values(texts).map((each) => keys.map((key) => each[key]));
  return `/** The keys, and the texts of each language in their order: JSON, packed. */
export const PACKED_TEXTS =
  "${pack(JSON.stringify([keys, ...languages]))}";
`;
}
