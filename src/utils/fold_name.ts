/**
 * One spelling of all that a database may take for the same name: many compare without regard to case, accents,
 * strokes and characters that are not shown. It may also be that of some other names.
 */
import { domainToUnicode } from "node:url";
import { lazyPattern } from "./later.ts";
import { SAME_CHARACTERS } from "./same_characters.ts";

/** Of a name, more is not compared: to sort the marks of a letter takes the square of their number. */
const LONGEST = 1_000;

/** Folds a name, or the address of a mail, whose domain may be in Unicode or in Punycode. */
export function foldName(name: string): string {
  const plain = withUnicodeDomain(name.slice(0, LONGEST)).normalize("NFKD").toUpperCase().normalize("NFKD");
  const folded = Array.from(plain, (character) => foldCharacter(character)).join("");
  // "ß" is "s" in some collations and "ss" in others.
  return folded.replace(/S+/g, "S");
}

function withUnicodeDomain(name: string): string {
  const at = name.lastIndexOf("@") + 1;
  const domain = name.slice(at);
  return at === 0 ? name : name.slice(0, at) + (domainToUnicode(domain) || domain);
}

/** Spaces, marks, and characters that are not shown. */
const ignored = lazyPattern(String.raw`[\s\p{M}\p{Cc}\p{Cf}\p{DI}]`, "u");

const digit = lazyPattern(String.raw`\p{Nd}`, "u");

function foldCharacter(character: string): string {
  const same = SAME.get(character);
  if (same !== undefined) return same;
  if (ignored().test(character)) return "";
  const code = character.codePointAt(0)!;
  if (digit().test(character)) return valueOf(code);
  // Older collations of MySQL take all of the others for one.
  return code > 0xffff ? "\ufffd" : character;
}

/** The value of a digit: those of a script follow each other from 0 on. */
function valueOf(code: number): string {
  let below = 0;
  while (digit().test(String.fromCodePoint(code - below - 1))) below++;
  return String(below % 10);
}

const SAME = new Map(
  SAME_CHARACTERS.split(",").flatMap((group) => {
    const [same = "", characters = ""] = group.split(" ");
    return Array.from(characters, (character) => [character, same] as const);
  }),
);
