/**
 * The drive of the compatibility suite: one application, one row of the table, the same steps each time.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import { passwordProvider, testConfig } from "../app.ts";
import { Client } from "../client.ts";
import { overHttp, type Send } from "../http_transport.ts";
import { ALL_CHECKS, signInThrough } from "../scripted_sign_in.ts";
import type { ScriptedProvider } from "../scripted_provider.ts";

/** What an application has beside the plugin, and how it is known to work still. */
export interface Row {
  /** The package, or the option of Fastify. */
  readonly name: string;
  /** How it is set up, for the table. */
  readonly setUp?: string;
  /** What of its own is checked, for the table. */
  readonly works: string;
  /** Options of the server. */
  readonly server?: FastifyServerOptions | (() => FastifyServerOptions | Promise<FastifyServerOptions>);
  /** Settings of the plugin. */
  readonly config?: Partial<FastifyAuthConfig>;
  /** Adds it to the application: once before the plugin and once after it, each time in an application of its own. */
  readonly add?: (app: FastifyInstance, parts: Parts) => unknown;
  /** Whether it does something to those routes only that come after it. */
  readonly onlyBefore?: boolean;
  /** Adds routes that use it. */
  readonly routes?: (app: FastifyInstance, parts: Parts) => unknown;
  /** Checks those, and what of the auth routes it could change, with a signed-in user. */
  readonly check?: (visit: Visit) => Promise<void>;
  /** How requests are sent to the application, which listens at the origin. */
  readonly transport?: (origin: string) => Send;
  /** How requests spell a path of the application. */
  readonly spell?: (url: string) => string;
  /** What stands between the browsers and the application: gives its address. */
  readonly front?: (origin: string) => Promise<{ origin: string } & AsyncDisposable>;
}

/** What a row's application is made of. */
export interface Parts {
  readonly config: FastifyAuthConfig;
  readonly guard: ReturnType<typeof requireSession>;
}

/** A browser on its way through a row. */
export interface Visit extends Parts {
  readonly app: FastifyInstance;
  readonly client: Client;
  /** Sends a request without cookies. */
  readonly send: Send;
  readonly origin: string;
  readonly provider: ScriptedProvider;
}

const ADA = { username: "ada", password: "open" };
const JSON_ONLY = { headers: { accept: "application/json" } };
const PAGE = { headers: { accept: "text/html" } };

async function userName({ client }: Visit): Promise<string | undefined> {
  const answer = await client.get("/me", JSON_ONLY);
  assertEquals(answer.statusCode, 200);
  return answer.json<{ session: { user?: { name: string } } | null }>().session?.user?.name;
}

/** Routes with a guard, each with one of the two ways to have one. */
const GUARDED = ["/guarded", "/declared"];

async function assertRefused({ client }: Visit): Promise<void> {
  for (const url of GUARDED) {
    const answer = await client.get(url, JSON_ONLY);
    assertEquals([answer.statusCode, answer.headers["www-authenticate"]], [401, "Cookie"], url);
  }
}

async function assertLetIn({ client }: Visit): Promise<void> {
  for (const url of GUARDED) {
    const answer = await client.get(url, JSON_ONLY);
    assertEquals([answer.statusCode, answer.json()], [200, { guarded: true }], url);
  }
}

/** Where a redirect leads, without the origin. */
function pathOf(location: unknown): string {
  const { pathname, search } = new URL(String(location), "http://relative.invalid");
  return pathname + search;
}

/** The steps, in order; one browser goes through all of them. */
export const STEPS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  "guard: 401": assertRefused,
  async "guard: 302"({ client }) {
    for (const url of GUARDED) {
      const answer = await client.get(url, PAGE);
      assertEquals(answer.statusCode, 302);
      const returnTo = `/auth/signin\\?error=SessionRequired&callbackUrl=.*${url.slice(1)}`;
      assertMatch(pathOf(answer.headers.location), new RegExp(returnTo, "i"));
    }
    const page = await client.get("/auth/signin", PAGE);
    assertEquals(page.statusCode, 200);
    assertStringIncludes(page.body, "<form");
  },
  async "wrong password"(visit) {
    const answer = await visit.client.signIn({ ...ADA, password: "wrong" });
    assertEquals(answer.statusCode, 302);
    assertMatch(pathOf(answer.headers.location), /\/auth\/signin\?.*error=CredentialsSignin/);
    assertEquals(await userName(visit), undefined);
  },
  async "right password"(visit) {
    const { client } = visit;
    const answer = await client.signIn({ ...ADA, callbackUrl: "/me" });
    assertEquals(answer.statusCode, 302);
    assertMatch(pathOf(answer.headers.location), /\/me$/);
    await assertLetIn(visit);
  },
  async "getSession()"(visit) {
    assertEquals(await userName(visit), "ada");
    const answer = await visit.client.get("/auth/session", JSON_ONLY);
    assertEquals(answer.json<{ user: { name: string } }>().user.name, "ada");
  },
  async "sign-out"(visit) {
    const answer = await visit.client.signOut();
    assertEquals(answer.statusCode, 302);
    assertEquals(await userName(visit), undefined);
    await assertRefused(visit);
  },
  async "OAuth"(visit) {
    const { client, provider } = visit;
    const answer = await signInThrough(client, provider);
    assertEquals(answer.statusCode, 302, `${answer.headers.location} ${answer.body}`);
    assert(!/error=/.test(String(answer.headers.location)), String(answer.headers.location));
    assertEquals(await userName(visit), "Ada");
    await assertLetIn(visit);
  },
};

/** The last step, which is the row's own. */
export const OWN = "its own work";

/** What came of one step: nothing, or why it failed. */
export type Outcome = Record<string, string | undefined>;

/** Goes through all steps of a row, in every order in which it may be added. */
export async function runRow(row: Row, provider: ScriptedProvider): Promise<Outcome> {
  const outcome: Outcome = Object.fromEntries([...Object.keys(STEPS), OWN].map((step) => [step, undefined]));
  const orders = row.add === undefined ? ["before"] as const : ["before", "after"] as const;
  for (const order of orders) {
    for (const [step, failure] of Object.entries(await drive(row, order, provider))) {
      outcome[step] ??= failure && (orders.length === 1 ? failure : `added ${order} the plugin: ${failure}`);
    }
  }
  return outcome;
}

async function drive(row: Row, order: "before" | "after", provider: ScriptedProvider): Promise<Outcome> {
  await using running = await start(row, order, provider);
  const outcome: Outcome = {};
  const check = row.onlyBefore && order === "after" ? undefined : row.check;
  const steps = { ...STEPS, ...(check && { [OWN]: check }) };
  for (const [step, take] of Object.entries(steps)) {
    outcome[step] = await attempt(() => take(running.visit));
  }
  return outcome;
}

/** Why something fails, if it does. */
async function attempt(step: () => Promise<void>): Promise<string | undefined> {
  try {
    await step();
  } catch (error) {
    return String(error);
  }
}

/** Starts the row's application on a free port. */
async function start(
  row: Row,
  order: "before" | "after",
  provider: ScriptedProvider,
): Promise<{ visit: Visit } & AsyncDisposable> {
  const config = testConfig({ providers: [passwordProvider(), oidc(provider.issuer)], ...row.config });
  const parts: Parts = { config, guard: requireSession(config) };
  const options = typeof row.server === "function" ? await row.server() : row.server;
  const app = Fastify(options) as unknown as FastifyInstance;
  if (order === "before") await row.add?.(app, parts);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  if (order === "after") await row.add?.(app, parts);
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  app.get("/guarded", { onRequest: parts.guard }, () => ({ guarded: true }));
  app.get("/declared", { config: { auth: true } as object }, () => ({ guarded: true }));
  await row.routes?.(app, parts);
  await app.listen({ port: 0, host: "127.0.0.1" });

  const { port } = app.server.address() as AddressInfo;
  const scheme = (options as { https?: unknown } | undefined)?.https ? "https" : "http";
  const own = `${scheme}://127.0.0.1:${port}`;
  const front = await row.front?.(own);
  const origin = front?.origin ?? own;
  const transport = (row.transport ?? overHttp)(origin);
  const { spell = (url: string) => url } = row;
  const send: Send = (request) => transport({ ...request, url: spell(request.url) });
  const client = new Client({ inject: send } as unknown as FastifyInstance);
  return {
    visit: { ...parts, app, client, send, origin, provider },
    async [Symbol.asyncDispose]() {
      await front?.[Symbol.asyncDispose]();
      await app.close();
    },
  };
}

function oidc(issuer: string): FastifyAuthConfig["providers"][number] {
  return {
    id: "op",
    name: "OP",
    type: "oidc",
    clientId: "client",
    clientSecret: "secret",
    issuer,
    checks: ALL_CHECKS,
  } as FastifyAuthConfig["providers"][number];
}
