/** The tokens that were opened lately: remembered or not, only those that were issued are read. */
import { encode } from "@auth/core/jwt";
import { assertEquals, assertNotEquals } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import { SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

const NAME = "authjs.session-token";

/** Ways to read a session: without callbacks, with one that is synchronous, and with one that may renew it. */
const READS: readonly [string, FastifyAuthConfig["callbacks"]][] = [
  ["without callbacks", undefined],
  ["with a session callback", { session: ({ session }) => session }],
  ["with a jwt callback", { jwt: ({ token }) => Promise.resolve(token) }],
];

/** Tokens that nobody issued, made of two that were: each ends as `token` does. */
function forgedFrom(token: string, other: string): [string, string][] {
  const [header, , iv, text, tag] = token.split(".") as [string, string, string, string, string];
  const [, , otherIv, otherText, otherTag] = other.split(".") as [string, string, string, string, string];
  const of = (...parts: string[]) => [header, "", ...parts].join(".");
  const changed = (part: string) => `${part[0] === "A" ? "B" : "A"}${part.slice(1)}`;
  return [
    ["another text", of(iv, otherText, tag)],
    ["another text and iv", of(otherIv, otherText, tag)],
    ["another beginning of the tag", of(iv, text, `${otherTag.slice(0, -12)}${tag.slice(-12)}`)],
    ["one other character of the tag", of(iv, text, changed(tag))],
    ["one other character of the text", of(iv, changed(text), tag)],
    ["one other character of the iv", of(changed(iv), text, tag)],
    ["another header", `${changed(header)}..${iv}.${text}.${tag}`],
    ["something before it", `A${token}`],
    ["only the tag", of("", "", tag)],
    ["only the end of the tag", tag.slice(-12)],
  ];
}

for (const [how, callbacks] of READS) {
  Deno.test(`a forged token that ends as a remembered one is refused, and the remembered one goes on (${how})`, async () => {
    await using app = await testApp(testConfig(callbacks && { callbacks }));
    const nameOf = async (client: Client) => (await client.get("/me")).json().session?.user.name;
    const [ada, eve] = [new Client(app), new Client(app)];
    await ada.signIn({ username: "ada", password: "open" });
    await eve.signIn({ username: "eve", password: "open" });
    assertEquals([await nameOf(ada), await nameOf(eve)], ["ada", "eve"]);
    const token = ada.cookies.get(NAME)!;
    for (const [what, forged] of forgedFrom(token, eve.cookies.get(NAME)!)) {
      assertNotEquals(forged, token);
      assertEquals(forged.slice(-12), token.slice(-12));
      // Each with a browser of its own, since the answer removes the cookie.
      const mallory = () => {
        const client = new Client(app);
        client.cookies.set(NAME, forged);
        return client;
      };
      assertEquals(await nameOf(mallory()), undefined, what);
      const updating = mallory();
      const csrfToken = await updating.csrfToken();
      const updated = await updating.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
      assertEquals(updated.json(), null, what);
      await mallory().signOut();
      assertEquals(await nameOf(ada), "ada", `${what}, signed out`);
      const signingIn = mallory();
      await signingIn.signIn({ username: "mallory", password: "open" });
      assertEquals([await nameOf(signingIn), await nameOf(ada)], ["mallory", "ada"], `${what}, signed in`);
    }
    assertEquals(ada.cookies.get(NAME), token, "its browser has kept it");
    await ada.signOut();
    assertEquals(await nameOf(eve), "eve");
    ada.cookies.set(NAME, token);
    assertEquals(await nameOf(ada), undefined);
  });
}

Deno.test("sessions of more users than are remembered are read as ever", async () => {
  await using app = await testApp(testConfig());
  // Together 11 MB of tokens and claims, of which 8 MB are remembered.
  const groups = "x".repeat(6_000);
  const cookies = await Promise.all(Array.from({ length: 700 }, async (_, index) => {
    const token = { sub: `${index}`, name: `user ${index}`, groups };
    const sealed = await encode({ token, secret: SECRET, salt: NAME });
    return sealed.match(/.{1,3900}/g)!.map((part, i) => `${NAME}.${i}=${part}`).join("; ");
  }));
  for (let round = 0; round < 3; round++) {
    for (const [index, cookie] of cookies.entries()) {
      const { session } = (await app.inject({ url: "/me", headers: { cookie } })).json();
      assertEquals(session?.user.name, `user ${index}`);
    }
  }
});
