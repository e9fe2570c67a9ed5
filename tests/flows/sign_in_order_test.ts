/**
 * What the application's callbacks, events and adapter are called with in a sign-in, and in which order: the same as by a
 * plain port, where core makes the session.
 */
import { assertEquals } from "@std/assert";
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { type IssuerUser, startIssuer, type TestIssuer } from "fastify-authjs/testing";
import { SECRET } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { pathOf } from "../support/oauth_client.ts";
import { plainPort } from "../support/plain_port.ts";

/** Sessions are ours: core calls these for them. */
const OF_SESSIONS = ["createSession", "getSessionAndUser", "updateSession", "deleteSession"];

const ADA: IssuerUser = { sub: "ada", name: "Ada", email: "ada@example.com" };

interface Settings {
  readonly strategy?: "jwt" | "database" | "none";
  readonly newUser?: boolean;
  readonly signIn?: NonNullable<AuthConfig["callbacks"]>["signIn"];
  /** The method of the adapter that fails. */
  readonly fails?: string;
}

interface Scene {
  readonly browser: Client;
  readonly calls: string[];
  /** The link that was mailed. */
  readonly link: () => string;
}

/** Values that differ in each run. */
const RANDOM =
  /^(?:access_token|id_token|refresh_token|expires_at|iat|exp|nonce|jti|auth_time|sid|csrfToken|token|expires|emailVerified|aud|iss)$/;

function show(args: readonly unknown[]): string {
  const text = JSON.stringify(args, (key, value) => {
    if (RANDOM.test(key) && typeof value !== "object") return "…";
    // Only our tokens have it.
    if (key === "session_name") return;
    return value === undefined ? "undefined" : value;
  });
  return text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "uuid");
}

function configuration(
  issuer: TestIssuer,
  settings: Settings,
  calls: string[],
  onLink: (url: string) => void,
) {
  const { strategy = "jwt", newUser = false, signIn = () => true, fails } = settings;
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const record = <T extends object>(prefix: string, functions: T): T =>
    Object.fromEntries(
      Object.entries(functions).map(([name, call]) => [name, (...args: unknown[]) => {
        if (!OF_SESSIONS.includes(name)) calls.push(`${prefix}${name} ${show(args)}`);
        if (name === fails) throw new Error("the database is away");
        return call(...args);
      }]),
    ) as T;
  const nothing = () => {};
  return {
    secret: SECRET,
    trustHost: true,
    providers: [
      issuer.provider({ id: "home", checks: ["pkce", "state"] }),
      issuer.provider({ id: "work", checks: ["pkce", "state"] }),
      ...(strategy === "database" ? [] : [
        Credentials({
          credentials: { username: {} },
          authorize: ({ username }) => ({ id: "1", name: String(username), email: null }),
        }),
      ]),
      ...(strategy === "none" ? [] : [
        Nodemailer({
          server: "smtp://127.0.0.1",
          from: "app@example.com",
          sendVerificationRequest: ({ url }) => onLink(url),
        }),
      ]),
    ],
    callbacks: record("callback ", {
      signIn,
      jwt: ({ token }: { token: object }) => token,
      redirect: ({ url, baseUrl }: { url: string; baseUrl: string }) => url.startsWith("/") ? `${baseUrl}${url}` : url,
    }),
    events: record("event ", {
      signIn: nothing,
      createUser: nothing,
      updateUser: nothing,
      linkAccount: nothing,
      signOut: nothing,
    }),
    ...(newUser && { pages: { newUser: "/welcome" } }),
    ...(strategy !== "none" && {
      adapter: record("adapter ", memoryAdapter(tables)) as Adapter,
      session: { strategy },
    }),
  };
}

async function begin(
  { browser }: Scene,
  provider: string,
  form: Record<string, string> = {},
): Promise<string> {
  const answer = await browser.post(`/auth/signin/${provider}`, {
    csrfToken: await browser.csrfToken(),
    callbackUrl: "/page",
    ...form,
  });
  return String(answer.headers.location);
}

async function signInAt(
  issuer: TestIssuer,
  scene: Scene,
  provider: string,
  user: IssuerUser,
): Promise<string> {
  issuer.user = user;
  const response = await fetch(await begin(scene, provider), { redirect: "manual" });
  await response.body?.cancel();
  const answer = await scene.browser.get(pathOf(response.headers.get("location")!));
  return String(answer.headers.location);
}

/** The flows, each of which gives where the browser is led. */
const FLOWS: Readonly<Record<string, (issuer: TestIssuer, scene: Scene) => Promise<unknown>>> = {
  "a first sign-in at a provider, and the next": async (issuer, scene) => [
    await signInAt(issuer, scene, "home", ADA),
    await scene.browser.signOut().then(() => signInAt(issuer, scene, "home", ADA)),
  ],
  "an account of another provider, while signed in": async (issuer, scene) => [
    await signInAt(issuer, scene, "home", ADA),
    await signInAt(issuer, scene, "work", { ...ADA, sub: "ada-at-work", email: "ada@work.example" }),
  ],
  "an account with the address of another user": async (issuer, scene) => [
    await signInAt(issuer, scene, "home", ADA),
    await scene.browser.signOut().then(() => signInAt(issuer, scene, "work", { ...ADA, sub: "mallory" })),
  ],
  "a password": async (_issuer, { browser }) => {
    const answer = await browser.signIn({ username: "ada", callbackUrl: "/page" });
    return answer.headers.location;
  },
  "a mailed link": async (_issuer, scene) => {
    const sent = await begin(scene, "nodemailer", { email: "ada@example.com" });
    if (scene.link() === "") return sent;
    const { location } = (await scene.browser.get(pathOf(scene.link()))).headers;
    return [sent, location];
  },
};

const CASES: Readonly<Record<string, Settings>> = {
  // First: core wants an adapter of every configuration, once one of the process had mails.
  "no database": { strategy: "none" },
  "a page for new users, no database": { newUser: true, strategy: "none" },
  "sessions in a JWT": {},
  "sessions in a database": { strategy: "database" },
  "a page for new users": { newUser: true },
  "a signIn callback that leads elsewhere": { signIn: () => "/elsewhere" },
  "a signIn callback that refuses": { signIn: () => false },
  "a signIn callback that throws": {
    signIn: () => {
      throw new Error("no");
    },
  },
  ...Object.fromEntries(
    [
      "getUserByAccount",
      "getUserByEmail",
      "createUser",
      "linkAccount",
      "getUser",
      "updateUser",
      "useVerificationToken",
    ]
      .map((fails) => [`${fails}() that fails`, { fails }]),
  ),
};

async function run(app: FastifyInstance, issuer: TestIssuer, scene: Scene, flow: keyof typeof FLOWS) {
  const led = await FLOWS[flow]!(issuer, scene);
  const { user } = (await scene.browser.get("/auth/session")).json() ?? {};
  await app.close();
  return { led, user: user?.name ?? user?.email ?? null };
}

/** What counts: core asks for the sessions of a plain port, and for the user of one that it was told of. */
function relevant(calls: readonly string[], { strategy }: Settings): string[] {
  const isRead = /^callback (?:redirect|jwt .*"session":)/;
  return calls.filter((call) =>
    !isRead.test(call) && !(strategy === "database" && call.startsWith("adapter getUser "))
  );
}

for (const [name, settings] of Object.entries(CASES)) {
  for (const flow of Object.keys(FLOWS)) {
    if (flow === "a mailed link" && settings.strategy === "none") continue;
    if (flow === "a password" && settings.strategy === "database") continue; // A plain port's session is none there.
    Deno.test(`${flow}, with ${name}: as in a plain port`, async () => {
      await using issuer = await startIssuer();
      const results = [];
      for (const isPlain of [true, false]) {
        const calls: string[] = [];
        let link = "";
        const config = configuration(issuer, settings, calls, (url) => link = url);
        const app = isPlain ? plainPort(config as unknown as AuthConfig) : Fastify() as FastifyInstance;
        if (!isPlain) {
          const own = { ...config, emailConfirm: false } as unknown as FastifyAuthConfig;
          await app.register(FastifyAuth(own), { prefix: "/auth" });
        }
        const scene: Scene = { browser: new Client(app), calls, link: () => link };
        const { led, user } = await run(app, issuer, scene, flow);
        results.push({ led, user, calls: relevant(calls, settings) });
      }
      const [plain, ours] = results as [typeof results[number], typeof results[number]];
      const failed = plain.calls.findIndex((call) => call.startsWith(`adapter ${settings.fails} `));
      if (failed === -1) return assertEquals(ours, plain);
      // A failed adapter is a 503 here, and what the sign-in wrote is undone.
      assertEquals(ours.calls.slice(0, failed + 1), plain.calls.slice(0, failed + 1));
      assertEquals(
        ours.user,
        flow.includes("while signed in") && settings.fails === "getUser" ? "Ada" : null,
      );
    });
  }
}
