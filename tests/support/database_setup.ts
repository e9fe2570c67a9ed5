/**
 * An application over a database, and ways to look at both.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { AdapterSession } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { captureLog, type LogLine, testApp, testConfig } from "./app.ts";
import { Client } from "./client.ts";
import type { DatabaseKind, TestDatabase } from "./databases.ts";
import { type FaultyAdapter, faultyAdapter } from "./faults.ts";
import { identityProvider } from "./identity.ts";

/** The session cookie. */
export const COOKIE = "authjs.session-token";
/** A day in milliseconds. */
export const DAY = 24 * 60 * 60 * 1000;
export const ADA = { id: "ada-1", name: "Ada", email: "ada@example.com" };
export const BOB = { id: "bob-1", name: "Bob", email: "bob@example.com" };

/** An application over a database that a test may break. */
export interface Setup extends FaultyAdapter {
  readonly app: FastifyInstance;
  readonly database: TestDatabase;
  readonly log: LogLine[];
  /** The sign-in links that were mailed. */
  readonly links: string[];
}

/** Runs a test with an application over an empty database, and gives both back. */
export async function withSetup(
  kind: DatabaseKind,
  run: (setup: Setup) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  await using database = await kind.open();
  const faulty = faultyAdapter(database.adapter);
  const links: string[] = [];
  const { logger, lines: log } = captureLog();
  const config = testConfig({
    adapter: faulty.adapter,
    providers: [
      identityProvider("one"),
      identityProvider("two"),
      identityProvider("trusted", { allowDangerousEmailAccountLinking: true }),
      mailProvider("mail", links),
      { ...mailProvider("brief", links), maxAge: 1 },
    ],
    ...overrides,
  });
  await using app = await testApp(config, { logger });
  await run({ ...faulty, app, database, log, links });
}

/** An e-mail provider that keeps its links. */
export function mailProvider(id: string, links: string[]) {
  return {
    id,
    name: id,
    type: "email" as const,
    sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
  };
}

/** The signed-in user, as a route of the application sees it. */
export async function reader(client: Client): Promise<string | null> {
  const answer = await client.get("/me");
  assertEquals(answer.statusCode, 200);
  return answer.json<{ session: { user: { email: string } } | null }>().session?.user.email ?? null;
}

/** The user of a session token, in a browser without other cookies. */
export function readerOf(app: FastifyInstance, token: string): Promise<string | null> {
  const client = new Client(app);
  client.cookies.set(COOKIE, token);
  return reader(client);
}

/** The row of a session. */
export async function rowOf(
  database: Pick<TestDatabase, "adapter">,
  token: string,
): Promise<AdapterSession | undefined> {
  return (await database.adapter.getSessionAndUser!(token))?.session;
}

/** Asks for a sign-in link and gives its path. */
export async function requestLink(
  client: Client,
  { links }: Pick<Setup, "links">,
  email: string,
  provider = "mail",
): Promise<string> {
  const csrfToken = await client.csrfToken();
  const answer = await client.post(`/auth/signin/${provider}`, { csrfToken, email });
  assertStringIncludes(String(answer.headers.location), "/auth/verify-request");
  const { pathname, search } = new URL(links.at(-1)!);
  return pathname + search;
}

/** What a caller must not find in a log or an answer. */
export function assertNothingLeaks(text: string, ...secrets: (string | undefined)[]): void {
  for (const secret of secrets) assert(!secret || !text.includes(secret), `leaked: ${secret}`);
}
