/** Names are folded at least as much as databases compare them. */
import { assertEquals, assertNotEquals } from "@std/assert";
import mysql, { type RowDataPacket } from "mysql2/promise";
import { foldName } from "../../src/utils/fold_name.ts";
import { serverUrl } from "../support/databases.ts";

Deno.test("X4: spellings that databases take for one name fold to one", () => {
  const names: string[][] = [
    ["Søren Østergård", "soren ostergard", "SØREN ØSTERGÅRD", "So\u0338ren Ostergard"],
    ["Łódź", "lodz", "ŁÓDŹ"],
    ["Đorđe", "dorde"],
    ["Weiß", "weiss", "weis", "WEIẞ"],
    ["Ægir", "aegir"],
    ["Œuvre", "oeuvre"],
    ["Işık", "isik", "IŞIK", "işik"],
    ["ａｄａ１", "ada1", "ⓐⓓⓐ①", "ada\u0661", "ada१", "a\u200bd\u00ada1", "𝐚𝐝𝐚𝟏", "🅐da❶"],
    ["カナ", "かな", "ｶﾅ"],
    ["ada@xn--bcher-kva.example", "ada@bücher.example", "Ada@BÜCHER.example", "ada@bücher。example"],
  ];
  for (const [first, ...others] of names) {
    for (const other of others) assertEquals(foldName(other), foldName(first!), other);
  }
});

Deno.test("X4: names that differ stay apart", () => {
  const names = [
    "ada",
    "adam",
    "ada1",
    "ada2",
    "bob",
    "ада",
    "田中",
    "中田",
    "ada@a.example",
    "ada@b.example",
  ];
  for (const [i, name] of names.entries()) {
    for (const other of names.slice(i + 1)) assertNotEquals(foldName(name), foldName(other));
  }
});

/** Each code point below the ideographs of further planes, which no collation takes for others. */
const CODES = "from seq_0_to_131071 where seq not between 55296 and 57343";

/** Collations, and whether they take all characters above U+FFFF for one. */
const COLLATIONS = {
  utf8mb4_general_ci: true,
  utf8mb4_unicode_ci: true,
  utf8mb4_unicode_520_ci: false,
  utf8mb4_uca1400_ai_ci: false,
};

/**
 * A weight of a long ligature is cut off; two old letters and an affricate stand for several characters above
 * U+FFFF, which are taken for one.
 */
const EXCEPT = new Set(["\ufdfa", "\u{10f27}", "\u{10ff6}", "\u{1df12}"]);

const server = serverUrl("TEST_MARIADB_URL", "the comparison of folded names with MariaDB");
for (const [collation, above] of server ? Object.entries(COLLATIONS) : []) {
  Deno.test(`X4: what ${collation} takes for the same folds to the same`, async () => {
    const connection = await mysql.createConnection({ uri: server!, database: "mysql", charset: "utf8mb4" });
    const weight = `hex(weight_string(convert(char(seq using utf32) using utf8mb4) collate ${collation}))`;
    const [rows] = await connection.query<(RowDataPacket & { seq: number; weight: string })[]>(
      `select seq, ${weight} as weight ${CODES}`,
    ).finally(() => connection.end());
    const characters = rows
      .map(({ seq, weight }) => ({ character: String.fromCodePoint(Number(seq)), weight }))
      .filter(({ character }) => /[^\p{Cn}\p{Co}]/u.test(character) && !EXCEPT.has(character))
      .filter(({ character }) => !above || character.length === 1);
    // What has one weight stands for it: the first of its characters.
    const firsts = new Map<string, string>();
    for (const { character, weight } of characters) {
      if (!firsts.has(weight)) firsts.set(weight, character);
    }
    const spelling = (weight: string) => {
      const parts = (weight.match(/.{4}/g) ?? []).map((part) => firsts.get(part));
      return parts.includes(undefined) ? firsts.get(weight)! : parts.join("");
    };
    const apart = characters.filter(({ character, weight }) => foldName(character) !== foldName(spelling(weight)));
    assertEquals(apart.map(({ character, weight }) => `${character}: ${spelling(weight)}`), []);
  });
}
