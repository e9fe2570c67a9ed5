/** Configurations of one process whose sessions count for each other. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
import Fastify, { type FastifyInstance } from "fastify";
import { captureLog, SECRET, testConfig } from "../../support/app.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const ORIGIN = "http://localhost";
const HTTPS = "https://app.example";

/** An application for each configuration, or one for all; gives the warnings at boot. */
async function bootWarnings(configs: Partial<FastifyAuthConfig>[], one: boolean): Promise<string[]> {
  const { logger, lines } = captureLog();
  const apps: FastifyInstance[] = [];
  for (const [index, overrides] of configs.entries()) {
    if (!one || index === 0) apps.push(Fastify({ logger } as object) as FastifyInstance);
    const config = testConfig({ origin: ORIGIN, ...overrides });
    await apps.at(-1)!.register(FastifyAuth(config), { prefix: `/auth${index}` });
  }
  await Promise.all(apps.map((app) => app.close()));
  return lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
}

const inDatabase = () => ({ adapter: memoryAdapter(), providers: [] });
const named = (name: string) => ({ cookies: { sessionToken: { name } } });

for (const one of [true, false]) {
  const where = one ? "in one application" : "in two applications";
  Deno.test(`two configurations with one secret and one session cookie are warned of, ${where}`, async () => {
    const sharing: Partial<FastifyAuthConfig>[][] = [
      [{}, {}],
      [{ secret: [`${SECRET}-new`, SECRET] }, {}],
      [named("session"), named("session")],
      [{ origin: HTTPS }, {}],
      [{ origin: HTTPS }, { origin: HTTPS }],
      [{ useSecureCookies: true }, {}],
    ];
    for (const configs of sharing) {
      const warnings = await bootWarnings(configs, one);
      assertEquals(warnings.length, 1, JSON.stringify(configs));
      assertStringIncludes(warnings[0]!, "signed in with the other");
      assertStringIncludes(warnings[0]!, "`secret`");
      assertEquals(warnings[0]!.includes(SECRET), false);
    }
  });

  Deno.test(`configurations with their own secret or session cookie are not warned of, ${where}`, async () => {
    const apart: Partial<FastifyAuthConfig>[][] = [
      [{}, { secret: `${SECRET}-other` }],
      [{}, named("staff")],
      [named("staff"), named("office")],
      // Whose tokens are keys of rows, each in its own database.
      [inDatabase(), inDatabase()],
      [inDatabase(), {}],
    ];
    for (const configs of apart) assertEquals(await bootWarnings(configs, one), [], JSON.stringify(configs));
  });
}

Deno.test("one configuration in two places is not warned of", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ origin: ORIGIN });
  await using a = Fastify({ logger } as object);
  await using b = Fastify({ logger } as object);
  await a.register(FastifyAuth(config), { prefix: "/auth" });
  await a.register(FastifyAuth(config), { prefix: "/api/auth" });
  await b.register(FastifyAuth(config), { prefix: "/auth" });
  assertEquals(lines.filter(({ level }) => level === 40), []);
});

Deno.test("a configuration whose application is closed, or that could not be mounted, is not warned of", async () => {
  assertEquals(await bootWarnings([{}], true), []);
  assertEquals(await bootWarnings([{}], true), []);
  const broken = Fastify();
  await broken.register(FastifyAuth(testConfig({ origin: ORIGIN })), { prefix: "/" }).then(
    () => {},
    () => {},
  );
  await broken.close();
  assertEquals(await bootWarnings([{}], true), []);
});

Deno.test("a configuration that is closed in one application is still in use in another", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ origin: ORIGIN });
  const a = Fastify();
  await using b = Fastify();
  await using c = Fastify({ logger } as object);
  for (const app of [a, b]) await app.register(FastifyAuth(config), { prefix: "/auth" });
  await a.close();
  await c.register(FastifyAuth(testConfig({ origin: ORIGIN })), { prefix: "/auth" });
  assertEquals(lines.filter(({ level }) => level === 40).length, 1);
});

Deno.test("an application counts until it is closed, also where it is only sent requests by inject()", async () => {
  const { logger, lines } = captureLog();
  const boot = async () => {
    const app = Fastify({ logger } as object) as FastifyInstance;
    await app.register(FastifyAuth(testConfig({ origin: ORIGIN })), { prefix: "/auth" });
    await app.ready();
    return app;
  };
  const warnings = () => lines.filter(({ level }) => level === 40).length;
  const a = await boot();
  assertEquals(warnings(), 0);
  const b = await boot();
  assertEquals(warnings(), 1);
  await Promise.all([a.close(), b.close()]);
  await using _c = await boot();
  assertEquals(warnings(), 1);
});
