/** What a process keeps of the sessions it has seen. */
import { assert } from "@std/assert";
import { encode } from "@auth/core/jwt";
import Fastify from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { memoryUsage } from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SECRET, testConfig } from "../support/app.ts";

const NAME = "authjs.session-token";
/** Of a part of a session cookie, in characters. */
const PART = 3900;
const MEGABYTE = 2 ** 20;

/** The bytes in use, without garbage. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  gc();
  const { heapUsed, external } = memoryUsage();
  return heapUsed + external;
}

/** Characters that nothing else shares. */
const noise = (length: number) => randomBytes(length / 2).toString("hex");

/** The Cookie header of a session with a claim of so many characters, behind a cookie of so many. */
async function cookiesOf(user: string, claim: number, other: number): Promise<string> {
  const token = { sub: user, name: user, groups: noise(claim) };
  const sealed = await encode({ token, secret: SECRET, salt: NAME });
  const parts = sealed.match(new RegExp(`.{1,${PART}}`, "g"))!;
  const cookies = parts.length === 1 ? [`${NAME}=${sealed}`] : parts.map((part, i) => `${NAME}.${i}=${part}`);
  // Through bytes, as headers come: a text that was joined is not in one piece
  return Buffer.from([`other=${noise(other)}`, ...cookies].join("; ")).toString();
}

async function startApp(options: Partial<FastifyAuthConfig> = {}) {
  const auth = createAuth(testConfig({ sessionCookieLimit: 16_000, ...options }));
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", (request) => auth.getSession(request));
  app.post("/sign-out", (request, reply) => auth.signOut(request, reply));
  return {
    app,
    async read(cookie: string) {
      const { body } = await app.inject({ url: "/me", headers: { cookie } });
      assert(body.includes("user"), body);
    },
    async signOut(cookie: string) {
      const { statusCode, body } = await app.inject({
        method: "POST",
        url: "/sign-out",
        headers: { cookie },
      });
      assert(statusCode === 302, body);
    },
  };
}

Deno.test("what is remembered of a token does not keep the Cookie header that it came in", async () => {
  const SESSIONS = 700;
  const HEADER = 14_000;
  const { read, app } = await startApp();
  await read(await cookiesOf("first", 20, HEADER));
  const before = usedBytes();
  for (let user = 0; user < SESSIONS; user++) await read(await cookiesOf(`user ${user}`, 20, HEADER));
  const grown = usedBytes() - before;
  assert(grown < SESSIONS * HEADER / 2, `${grown} bytes for ${SESSIONS} tokens of some 400 characters`);
  await app.close();
});

Deno.test("the caches of sessions stay within a few megabytes, whatever is put into them", async () => {
  const { read, signOut, app } = await startApp({
    // Each read replaces the token
    callbacks: { jwt: ({ token }) => ({ ...token, reads: Number(token.reads ?? 0) + 1 }) },
  });
  await read(await cookiesOf("first", 20, 20));
  const before = usedBytes();
  for (let user = 0; user < 1_500; user++) {
    const cookie = await cookiesOf(`user ${user}`, 9_000, 20);
    await read(cookie);
    await signOut(cookie);
  }
  const grown = usedBytes() - before;
  // Tokens of some 40 megabytes were sent and made
  assert(grown < 28 * MEGABYTE, `${grown} bytes`);
  await app.close();
});
