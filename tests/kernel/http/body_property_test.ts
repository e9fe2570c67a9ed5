/** Bodies of every kind: none is a server error, and credentials are strings. */
import { assert, assertEquals } from "@std/assert";
import fc from "../../support/property.ts";
import { Buffer } from "node:buffer";
import { captureLog, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

const NAMES = [
  "username",
  "password",
  "callbackUrl",
  "csrfToken",
  "data",
  "json",
  "__proto__",
  "constructor",
  "toJSON",
  "a[]",
  "",
];

const names = fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 6 }));

const nested = fc.integer({ min: 1, max: 20_000 }).map((depth) => "[".repeat(depth) + "]".repeat(depth));

const texts: fc.Arbitrary<{ type: string; text: (csrfToken: string) => string }> = fc.oneof(
  fc.dictionary(names, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 }).map((fields) => ({
    type: JSON_TYPE,
    text: (csrfToken: string) => JSON.stringify({ ...fields, csrfToken }),
  })),
  fc.tuple(names, nested).map(([name, value]) => ({
    type: JSON_TYPE,
    text: (csrfToken: string) => `{"csrfToken":"${csrfToken}",${JSON.stringify(name)}:${value}}`,
  })),
  fc.json().map((json) => ({ type: JSON_TYPE, text: () => json })),
  fc.array(fc.tuple(names, fc.string({ unit: "binary", maxLength: 8 })), { maxLength: 8 }).map((fields) => ({
    type: FORM_TYPE,
    text: (csrfToken: string) => new URLSearchParams([...fields, ["csrfToken", csrfToken]]).toString(),
  })),
  fc.integer({ min: 1, max: 5_000 }).map((count) => ({
    type: FORM_TYPE,
    text: (csrfToken: string) => `csrfToken=${csrfToken}${"&a=b".repeat(count)}`,
  })),
  fc.tuple(fc.constantFrom(JSON_TYPE, FORM_TYPE), fc.string({ unit: "binary" })).map(([type, text]) => ({
    type,
    text: () => text,
  })),
);

const paths = fc.constantFrom(
  "callback/credentials",
  "callback/credentials",
  "signin/credentials",
  "session",
  "signout",
);

Deno.test("any JSON or form is answered without a server error, and gives authorize() strings alone", async () => {
  const { logger, lines } = captureLog();
  const seen: object[] = [];
  let authorized = 0;
  await using app = await testApp(
    testConfig({ providers: [passwordProvider((fields) => seen.push(fields as object))] }),
    { logger },
  );
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const { cookie } = client;
  await fc.assert(
    fc.asyncProperty(paths, texts, async (path, { type, text }) => {
      const answer = await app.inject({
        method: "POST",
        url: `/auth/${path}`,
        headers: { cookie: cookie!, "content-type": type },
        payload: text(csrfToken),
      });
      assert(answer.statusCode < 500, `${answer.statusCode} ${answer.body}`);
      for (const fields of seen.splice(0)) {
        authorized++;
        assertEquals(Object.values(fields).filter((value) => typeof value !== "string"), []);
      }
    }),
    { numRuns: 1_000 },
  );
  assert(authorized > 0);
  assertEquals(lines.filter(({ level }) => level >= 50), []);
});

Deno.test("any bytes of any content type are answered without a server error", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const types = fc.oneof(
    fc.constantFrom(
      JSON_TYPE,
      FORM_TYPE,
      `${JSON_TYPE}; charset=latin1`,
      "text/plain",
      "multipart/form-data",
      "",
    ),
    fc.string({ maxLength: 12 }),
  );
  await fc.assert(
    fc.asyncProperty(paths, types, fc.uint8Array({ maxLength: 200 }), async (path, type, bytes) => {
      const answer = await app.inject({
        method: "POST",
        url: `/auth/${path}`,
        headers: { "content-type": type },
        payload: Buffer.from(bytes),
      });
      assert(answer.statusCode < 500, `${answer.statusCode} ${answer.body}`);
    }),
    { numRuns: 1_000 },
  );
  assertEquals(lines.filter(({ level }) => level >= 50), []);
});
