/**
 * Twelve steps through an application over an adapter, and what else is to be known of the adapter.
 *
 * @module
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { COOKIE, DAY, mailProvider, reader, readerOf, requestLink, rowOf } from "../support/database_setup.ts";
import { identityProvider, type Person, signedIn, signInAs } from "../support/identity.ts";
import { testStore } from "../support/test_store.ts";
import type { AdapterCase, Query } from "./adapter_case.ts";
import { FIXES } from "./fixes.ts";
import { type SchemaFacts, schemaFacts } from "./schema_facts.ts";

/** How many requests follow one link at once. */
export const AT_ONCE = 20;

/** What was found of one case. */
export interface CaseResult extends SchemaFacts {
  /** The steps that failed, and why. */
  readonly failures: Record<string, string>;
  /** Of {@linkcode AT_ONCE} calls of `useVerificationToken()` at once, how many were given the link. */
  readonly byAdapter: number;
  /** Of as many requests, how many the plugin signed in. */
  readonly byPlugin: number;
  /** Of as many requests to two processes with a lock, how many were signed in. */
  readonly byProcesses: number;
  /** Whether an account with tokens of 4,000 characters is stored. */
  readonly longTokens: boolean;
  /** The same of the adapter with the change that is recommended. */
  readonly changed: Pick<CaseResult, "byAdapter" | "keepsLinks"> | undefined;
  /** What the tables lack after the changes of `fixes.ts`, and whether long tokens are stored then. */
  readonly fixed: SchemaFacts & Pick<CaseResult, "longTokens">;
  /** Whether a link still works after somebody guessed another one for its address. */
  readonly keepsLinks: boolean;
}

/** What a step works with. */
interface World {
  readonly app: FastifyInstance;
  readonly adapter: Adapter;
  /** The links that were mailed. */
  readonly links: string[];
}

type Step = (world: World, person: Person) => Promise<void>;

/** The steps by name. Each has a person of its own. */
export const STEPS: Record<string, Step> = {
  async "a new user signs in by OAuth"({ app, adapter }, ada) {
    const client = await signedIn(app, "one", ada);
    assertEquals(await reader(client), ada.email);
    const user = await adapter.getUserByAccount!({ provider: "one", providerAccountId: ada.id });
    assertEquals([user?.email, user?.name], [ada.email, ada.name]);
    assertEquals((await adapter.getUserByEmail!(ada.email!))?.id, user!.id);
    const { session } = (await client.get("/me")).json();
    assert(Date.parse(session.expires) > Date.now() + 29 * DAY, session.expires);
  },
  async "a second browser has a session of its own"({ app }, ada) {
    // At the same time, as the first sign-ins of the user.
    const [laptop, phone] = await Promise.all([signedIn(app, "one", ada), signedIn(app, "one", ada)]);
    assertNotEquals(laptop.cookies.get(COOKIE), phone.cookies.get(COOKIE));
    assertEquals([await reader(laptop), await reader(phone)], [ada.email, ada.email]);
  },
  async "signing in again replaces the session"({ app, adapter }, ada) {
    const client = await signedIn(app, "one", ada);
    const old = client.cookies.get(COOKIE)!;
    await signInAs(client, "one", ada);
    assertNotEquals(client.cookies.get(COOKIE), old);
    assertEquals([await reader(client), await readerOf(app, old)], [ada.email, null]);
    assertEquals(await rowOf({ adapter }, old), undefined);
  },
  async "signing out ends one session"({ app, adapter }, ada) {
    const [laptop, phone] = [await signedIn(app, "one", ada), await signedIn(app, "one", ada)];
    const token = laptop.cookies.get(COOKIE)!;
    assertEquals((await laptop.signOut()).statusCode, 302);
    assertEquals([await readerOf(app, token), await reader(phone)], [null, ada.email]);
    assertEquals(await rowOf({ adapter }, token), undefined);
  },
  async "a sign-in link signs a new user in, once"({ app, adapter, links }, { email = "" }) {
    const client = new Client(app);
    const link = await requestLink(client, { links }, email);
    await client.confirm(link);
    assertEquals(await reader(client), email);
    assert((await adapter.getUserByEmail!(email))?.emailVerified, "the address is verified");
    const second = new Client(app);
    const { headers } = await second.confirm(link);
    assertEquals([headers.location, await reader(second)], [REFUSED, null]);
  },
  async "a sign-in link that three browsers follow at once signs in one"({ app, links }, { email = "" }) {
    const link = await requestLink(new Client(app), { links }, email);
    assertEquals(await follow([app], link, 3), 1);
  },
  async "a sign-in link signs an OAuth user in as the same user"({ app, adapter, links }, ada) {
    await signedIn(app, "one", ada);
    const client = new Client(app);
    await client.confirm(await requestLink(client, { links }, ada.email!));
    const { user } = (await adapter.getSessionAndUser!(client.cookies.get(COOKIE)!))!;
    const owner = await adapter.getUserByAccount!({ provider: "one", providerAccountId: ada.id });
    assertEquals(String(user.id), String(owner!.id));
  },
  async "the same address at another provider is not linked"({ app, adapter }, ada) {
    await signedIn(app, "one", ada);
    const client = new Client(app);
    const { headers } = await signInAs(client, "two", { ...ada, id: "mallory" });
    assertStringIncludes(String(headers.location), "error=OAuthAccountNotLinked");
    assertEquals(await reader(client), null);
    assertEquals(await adapter.getUserByAccount!({ provider: "two", providerAccountId: "mallory" }), null);
  },
  async "a signed-in user links another provider"({ app }, ada) {
    const client = await signedIn(app, "one", ada);
    const elsewhere = { id: `${ada.id}-two`, email: `work-${ada.email}` };
    await signInAs(client, "two", elsewhere);
    assertEquals(await reader(client), ada.email);
    assertEquals(await reader(await signedIn(app, "two", elsewhere)), ada.email);
  },
  async "an expired session is refused, and its row removed"({ app, adapter }, ada) {
    const client = await signedIn(app, "one", ada);
    const sessionToken = client.cookies.get(COOKIE)!;
    await adapter.updateSession!({ sessionToken, expires: new Date(Date.now() - 60_000) });
    assertEquals(await reader(client), null);
    assertEquals(await rowOf({ adapter }, sessionToken), undefined);
  },
  async "a session in use is renewed"({ app, adapter }, ada) {
    const client = await signedIn(app, "one", ada);
    const sessionToken = client.cookies.get(COOKIE)!;
    await adapter.updateSession!({ sessionToken, expires: new Date(Date.now() + 28 * DAY) });
    const { session } = (await client.get("/me")).json();
    const told = Date.parse(session.expires);
    assert(told > Date.now() + 29 * DAY, session.expires);
    // Some adapters return the column as text.
    const { expires } = (await rowOf({ adapter }, sessionToken))!;
    assertEquals(new Date(expires).valueOf(), told);
    const ending: Adapter = {
      ...adapter,
      // The session ends elsewhere while it is renewed: some adapters call it an error that the row is gone.
      async getSessionAndUser(token) {
        const found = await adapter.getSessionAndUser!(token);
        await adapter.deleteSession!(token);
        return found;
      },
    };
    await using other = await appOver(ending, [], { session: { strategy: "database", updateAge: 0 } });
    assertEquals(await readerOf(other, sessionToken), ada.email);
    assertEquals(await reader(client), null);
  },
  async "an update answers with what changed of the user"({ app, adapter }, ada) {
    const client = await signedIn(app, "one", ada);
    const { id } = (await adapter.getUserByEmail!(ada.email!))!;
    await adapter.updateUser!({ id, name: "Countess" });
    const json = { csrfToken: await client.csrfToken(), data: {} };
    const answer = await client.request("POST", "/auth/session", { json });
    assertEquals([answer.statusCode, answer.json().user.name], [200, "Countess"]);
    assertEquals(await reader(client), ada.email);
  },
};

const REFUSED = "http://localhost/auth/error?error=Verification";

/** Runs everything over a new database. */
export async function drive(adapterCase: AdapterCase, url: string): Promise<CaseResult> {
  await using database = await adapterCase.open(url);
  const { adapter, changed, query } = database;
  const links: string[] = [];
  await using app = await appOver(adapter, links);
  const failures: Record<string, string> = {};
  for (const [index, [name, step]] of Object.entries(STEPS).entries()) {
    const person = { id: `person-${index}`, name: "Ada", email: `person-${index}@example.com` };
    await step({ app, adapter, links }, person).catch((error) => failures[name] = String(error));
  }
  return {
    failures,
    byAdapter: await usesByAdapter(adapter),
    byPlugin: await usesBy([app], links),
    byProcesses: await usesByProcesses(adapter),
    keepsLinks: await keepsLinks(adapter),
    changed: changed &&
      { byAdapter: await usesByAdapter(changed), keepsLinks: await keepsLinks(changed) },
    ...await tableFacts(app, adapterCase, query),
    fixed: await applyFixes(adapterCase, query).then(() => tableFacts(app, adapterCase, query)),
  };
}

/** An application that shares nothing but the adapter with others, as one in another process would. */
async function appOver(
  adapter: Adapter,
  links: string[],
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<FastifyInstance> {
  const profile = ({ id, name, email }: Person) => ({ id, name, email });
  const providers = [
    identityProvider("one", { profile }),
    identityProvider("two", { profile }),
    mailProvider("mail", links),
  ];
  return await testApp(testConfig({ adapter, providers, ...overrides }));
}

/** How many browsers a link signs in, that follow it at once. */
async function follow(apps: FastifyInstance[], link: string, browsers: number): Promise<number> {
  const clients = Array.from({ length: browsers }, (_, i) => new Client(apps[i % apps.length]!));
  await Promise.all(clients.map((client) => client.confirm(link)));
  const readers = await Promise.all(clients.map(reader));
  return readers.filter((email) => email !== null).length;
}

async function usesBy(apps: FastifyInstance[], links: string[]): Promise<number> {
  const link = await requestLink(new Client(apps[0]!), { links }, "at-once@example.com");
  return await follow(apps, link, AT_ONCE);
}

async function usesByProcesses(adapter: Adapter): Promise<number> {
  const links: string[] = [];
  const store = testStore();
  await using one = await appOver(adapter, links, { store });
  await using two = await appOver(adapter, links, { store });
  return await usesBy([one, two], links);
}

async function usesByAdapter(adapter: Adapter): Promise<number> {
  const link = { identifier: "raw@example.com", token: "a".repeat(64) };
  await adapter.createVerificationToken!({ ...link, expires: new Date(Date.now() + DAY) });
  const uses = Array.from({ length: AT_ONCE }, async () => await adapter.useVerificationToken!(link));
  const settled = await Promise.allSettled(uses);
  return settled.filter((use) => use.status === "fulfilled" && use.value).length;
}

async function tableFacts(
  app: FastifyInstance,
  { database }: AdapterCase,
  query: Query | undefined,
): Promise<CaseResult["fixed"]> {
  return { longTokens: await storesLongTokens(app), ...await schemaFacts(database, query) };
}

async function applyFixes({ id }: AdapterCase, query: Query | undefined): Promise<void> {
  for (const { sql } of FIXES[id] ?? []) {
    for (const statement of sql.split("\n")) await query!(statement);
  }
}

/** The access token of these providers is the profile. */
async function storesLongTokens(app: FastifyInstance): Promise<boolean> {
  const id = `long-${crypto.randomUUID()}`;
  const person = { id, email: `${id}@example.com`, padding: "x".repeat(4000) };
  return await reader(await signedIn(app, "one", person)) === person.email;
}

async function keepsLinks(adapter: Adapter): Promise<boolean> {
  const links: string[] = [];
  await using app = await appOver(adapter, links);
  const client = new Client(app);
  const link = await requestLink(client, { links }, "guessed@example.com");
  const guess = new URL(link, "http://localhost");
  guess.searchParams.set("token", "guess");
  await new Client(app).confirm(guess.pathname + guess.search);
  await client.confirm(link);
  return await reader(client) !== null;
}
