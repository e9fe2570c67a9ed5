import { assert, assertEquals } from "@std/assert";
import fc from "../../support/property.ts";
import { Buffer } from "node:buffer";
import { credentialProblem } from "../../../src/provider/webauthn/credential.ts";
import { decodeBase64Url } from "../../../src/utils/decode.ts";
import { seededRandom } from "../../support/random.ts";

Deno.test("property: base64url is read in the one spelling that an encoder writes, and in no other", () => {
  const { seed } = seededRandom();
  console.log(`seed ${seed}`);
  const alphabet = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"];
  const odd = fc.constantFrom("=", "==", "+", "/", " ", "\n", ".", "!", "\u0141", "\u00c1", "日", "\0");
  const text = fc.array(fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...alphabet) }, odd), {
    maxLength: 40,
  })
    .map((characters) => characters.join(""));
  let read = 0;
  fc.assert(
    fc.property(text, (text) => {
      const bytes = decodeBase64Url(text);
      const encoded = Buffer.from(text, "base64url").toString("base64url");
      assertEquals(bytes !== undefined, encoded === text, text);
      if (bytes !== undefined) assertEquals(bytes.toString("base64url"), text);
      read += Number(bytes !== undefined);
    }),
    { numRuns: 20_000, seed },
  );
  assert(read > 1000, `${read}`);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      assertEquals(decodeBase64Url(Buffer.from(bytes).toString("base64url")), Buffer.from(bytes));
    }),
    { numRuns: 2000, seed },
  );
});

Deno.test("a credential id is accepted in one spelling", () => {
  const problem = (id: unknown) =>
    credentialProblem({ action: "authenticate", data: JSON.stringify({ id, response: {} }) });
  const longest = Buffer.alloc(1023, 7).toString("base64url");
  for (const id of ["AAAA", "AQ", "AAE", longest]) assertEquals(problem(id), undefined, id);
  for (const id of ["", "A", "AR", "AAF", "AA==", "A+AA", "A/AA", "AA A", `${longest}AAAA`, 1, null]) {
    assert(problem(id)?.includes("no credential"), `${id}`);
  }
});
