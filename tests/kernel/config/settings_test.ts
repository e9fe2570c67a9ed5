/** Settings that are misspelled, of another type, or in another unit: each is named at boot. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { JWT, JWTDecodeParams, JWTEncodeParams } from "@auth/core/jwt";
import { createAuth, FastifyAuth, type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import AzureDevOps from "fastify-authjs/providers/azure-devops";
import Credentials from "fastify-authjs/providers/credentials";
import GitHub from "fastify-authjs/providers/github";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Fastify from "fastify";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { withEnvironment } from "../../support/environment.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const INVALID = "FST_AUTHJS_CONFIG_INVALID";
const PROVIDER = "FST_AUTHJS_PROVIDER_INVALID";
const ADAPTER = "FST_AUTHJS_ADAPTER_INVALID";

/** Any settings, as in JavaScript. */
type Settings = Record<string, unknown>;

const github = (more: Settings = {}) => GitHub({ clientId: "id", clientSecret: "secret", ...more });

async function refused(settings: Settings): Promise<FastifyAuthError> {
  return await assertRejects(async () => {
    await using app = await testApp(testConfig(settings as Partial<FastifyAuthConfig>));
    await app.ready();
  }, FastifyAuthError);
}

/** A provider that answers with a form, for which the plugin sets `SameSite=None` itself. */
const formPost = () =>
  github({ id: "form", checks: ["state"], authorization: { params: { response_mode: "form_post" } } });

const REFUSED: [what: string, settings: Settings, code: string, message: string][] = [
  [
    "an option of this package",
    { refreshToken: true },
    INVALID,
    "`refreshToken` is no setting. Did you mean `refreshTokens`?",
  ],
  [
    "an option that has gone: the grace of refreshed cookies",
    { refreshGrace: 0 },
    INVALID,
    "There is no option `refreshGrace` any more: remove it.",
  ],
  [
    "an option that has moved",
    { language: "de" },
    INVALID,
    "`language` any more: write `pages: { language }`.",
  ],
  ["another", { texts: {} }, INVALID, "`texts` any more: write `pages: { texts }`."],
  ["a third", { siteName: "Engines" }, INVALID, "`siteName` any more: write `pages: { siteName }`."],
  [
    "an option that has gone: the size of the cache",
    { tokenCacheSize: 0 },
    INVALID,
    "There is no option `tokenCacheSize` any more: remove it.",
  ],
  [
    "an option that has gone: rows for credentials",
    { credentialsDatabaseSessions: true },
    INVALID,
    "There is no option `credentialsDatabaseSessions` any more: remove it. With sessions in a database, a sign-in",
  ],
  [
    "an option that has gone: the lock",
    { refreshLock: false },
    INVALID,
    "`refreshLock` any more: write `store`",
  ],
  [
    "an option that has gone: the store of sessions",
    { sessionStore: {} },
    INVALID,
    "`sessionStore` any more: write `store` and `revocable: true`",
  ],
  [
    "an option that has gone: the doctor",
    { doctor: false },
    INVALID,
    "`doctor` any more: the log has the table",
  ],
  ["an option of core", { callback: {} }, INVALID, "`callback` is no setting. Did you mean `callbacks`?"],
  [
    "a check",
    { providers: [github({ checks: ["PKCE"] })] },
    PROVIDER,
    'The provider "github" has the check "PKCE", which is unknown, so core would leave it out: write "pkce", "state"',
  ],
  [
    "a page in another case",
    { pages: { signin: "/login" } },
    INVALID,
    "`pages.signin` is no setting. Did you mean `pages.signIn`?",
  ],
  [
    "a callback in another case",
    { callbacks: { signin: () => false } },
    INVALID,
    "Did you mean `callbacks.signIn`?",
  ],
  [
    "a callback with a letter too few",
    { callbacks: { sesion: () => null } },
    INVALID,
    "Did you mean `callbacks.session`?",
  ],
  ["an event", { events: { sign_out: () => {} } }, INVALID, "Did you mean `events.signOut`?"],
  ["a lifetime", { session: { maxage: 60 } }, INVALID, "Did you mean `session.maxAge`?"],
  [
    "a cookie's attribute",
    { cookies: { sessionToken: { options: { samesite: "none" } } } },
    INVALID,
    "Did you mean `cookies.sessionToken.options.sameSite`?",
  ],
  ["a colour", { theme: { brandcolour: "#fff" } }, INVALID, "Did you mean `theme.brandColor`?"],
  [
    "an experiment",
    { experimental: { enableWebauthn: true } },
    INVALID,
    "Did you mean `experimental.enableWebAuthn`?",
  ],
  ["an option of bearer tokens", { bearer: { maxage: 60 } }, INVALID, "`bearer` has no option `maxage`"],
  [
    "an option of one rate limit",
    { rateLimit: { address: { max: 3, timeWindow: 60_000, ban: 1 } } },
    INVALID,
    "`rateLimit.address.ban` is no option",
  ],
  [
    "a strategy that there is not",
    { session: { strategy: "cookie" } },
    INVALID,
    '`session.strategy` is "cookie": write one of "jwt", "database", or leave it out.',
  ],
  [
    "an object in one word",
    { session: true },
    INVALID,
    "`session` is true: write an object, or leave it out.",
  ],
  ["null", { pages: null }, INVALID, "`pages` is null"],
  ["an array of callbacks", { callbacks: [] }, INVALID, "`callbacks` is an array: write an object"],
  [
    "a callback that is no function",
    { callbacks: { session: {} } },
    INVALID,
    "`callbacks.session` is an object: write a function",
  ],
  [
    "an event that is no function",
    { events: { signIn: "log" } },
    INVALID,
    "`events.signIn` is a string: write a function",
  ],
  [
    "a cookie that is its name",
    { cookies: { sessionToken: "sid" } },
    INVALID,
    "`cookies.sessionToken` is a string: write an object",
  ],
  [
    "a cookie's name with a space",
    { cookies: { sessionToken: { name: "my session" } } },
    INVALID,
    "`cookies.sessionToken` cannot be sent",
  ],
  [
    "one name for two cookies",
    { cookies: { sessionToken: { name: "sid" }, csrfToken: { name: "sid" } } },
    INVALID,
    'Two of `cookies` have the name "sid"',
  ],
  [
    "the default name of another cookie",
    { cookies: { callbackUrl: { name: "authjs.csrf-token" } } },
    INVALID,
    'Two of `cookies` have the name "authjs.csrf-token"',
  ],
  [
    "a cookie's attribute that there is not",
    { cookies: { state: { options: { sameSite: "strikt" } } } },
    INVALID,
    "`cookies.state` cannot be sent",
  ],
  [
    "a cookie's end as a text",
    { cookies: { state: { options: { expires: "tomorrow" } } } },
    INVALID,
    "`cookies.state.options.expires` is a string: write a Date",
  ],
  ["a word for a boolean", { trustHost: "false" }, INVALID, '`trustHost` is "false": write true or false'],
  ["a boolean for a logger", { logger: true }, INVALID, "`logger` is true: write an object"],
  [
    "a mail that is no function",
    { emailMessage: { subject: "Hi" } },
    INVALID,
    "`emailMessage` is an object: write a function",
  ],
  [
    "an async refreshDue",
    // deno-lint-ignore require-await -- as it must not be
    { refreshDue: async () => true },
    INVALID,
    "`refreshDue` is a function: write a function without `async`",
  ],
  [
    "an async generateSessionToken",
    // deno-lint-ignore require-await -- as it must not be
    { session: { generateSessionToken: async () => "token" } },
    INVALID,
    "`session.generateSessionToken` is a function: write a function without `async`",
  ],
  ["a store of a variable that is empty", { store: "" }, INVALID, "`store` lacks get(), set(), lock()"],
  ["a store that is null", { store: null }, INVALID, "`store` lacks get(), set(), lock()"],
  [
    "a number for a secret",
    { secret: 12345678901234 },
    INVALID,
    "`secret` is a number: write a string, or an array of strings",
  ],
  [
    "a secret that is not set",
    { secret: [SECRET, undefined] },
    INVALID,
    "`secret` is an array whose entry 1 is undefined",
  ],
  [
    "a text of a unit",
    { rateLimit: { address: { max: 3, timeWindow: "1 minute" } } },
    INVALID,
    "a whole number of milliseconds",
  ],
  [
    "an address without its scheme",
    { origin: "app.example" },
    "FST_AUTHJS_ORIGIN_INVALID",
    'is "app.example", and must be the address users type, with its scheme',
  ],
  [
    "an origin for all hosts of a domain",
    { origin: "https://*.app.example" },
    "FST_AUTHJS_ORIGIN_INVALID",
    'is "https://*.app.example", and must be the address users type',
  ],
  [
    "a page that is the built-in one",
    { pages: { signIn: "/auth/signin?x=1" } },
    INVALID,
    "would redirect to itself",
  ],
  [
    "a page that is the built-in one, as a URL",
    { origin: "https://app.example", pages: { error: "https://app.example/auth/error" } },
    INVALID,
    "would redirect to itself",
  ],
  [
    "a provider without a type",
    { providers: [{ id: "x", name: "X" }] },
    PROVIDER,
    'The provider "x" has no `type`: write one of oidc, oauth, email, credentials, webauthn.',
  ],
  [
    "a provider of an unknown type",
    { providers: [{ id: "x", name: "X", type: "oauth2" }] },
    PROVIDER,
    'has the `type` "oauth2", which is unknown',
  ],
  [
    "a provider that is a promise",
    { providers: [Promise.resolve(github())] },
    PROVIDER,
    "`providers[0]` is a promise",
  ],
  ["a provider in an array", { providers: [[github()]] }, PROVIDER, "`providers[0]` is an array"],
  [
    "a module of CommonJS",
    { providers: [{ default: GitHub }] },
    PROVIDER,
    "under CommonJS `const { default: GitHub } = require(…)`",
  ],
  [
    "a function that returns nothing",
    { providers: [() => undefined] },
    PROVIDER,
    "`providers[0]` is a function that returned undefined",
  ],
  [
    "a function that returns a factory",
    { providers: [() => GitHub] },
    PROVIDER,
    "`providers[0]` is a function that returned a function, which is no provider",
  ],
  ["a provider that is a BigInt", { providers: [1n] }, PROVIDER, "`providers[0]` is 1, which is no provider"],
  [
    "a provider of one's own without an id",
    { providers: [{ type: "oidc", issuer: "https://idp.example" }] },
    PROVIDER,
    '`providers[0]` is an object without an `id`. Give it one, such as `id: "corp"`.',
  ],
  [
    "a factory that needs settings",
    { providers: [Nodemailer], adapter: memoryAdapter() },
    PROVIDER,
    "fails without settings: Nodemailer requires a `server` configuration. Call it with them, as in `Nodemailer({ … })`.",
  ],
  [
    "credentials without authorize()",
    { providers: [Credentials({ credentials: {} } as never)] },
    PROVIDER,
    'The provider "credentials" has no authorize()',
  ],
  [
    "an adapter that is a promise",
    { adapter: Promise.resolve(memoryAdapter()), session: { strategy: "jwt" } },
    ADAPTER,
    "`adapter` is a promise: await it",
  ],
  [
    "an adapter that was not called",
    { adapter: () => memoryAdapter(), session: { strategy: "jwt" } },
    ADAPTER,
    "`adapter` is a function: call it",
  ],
  [
    "the client of a database",
    { adapter: { query: () => {} }, session: { strategy: "jwt" } },
    ADAPTER,
    "none of the methods of an adapter",
  ],
];

const TYPES: [what: string, settings: Settings, code: string, message: string][] = [
  [
    "an empty name of the site",
    { pages: { siteName: " " } },
    INVALID,
    "`pages.siteName` is an empty string: write a string that is not empty",
  ],
  [
    "a time-out as a text",
    { adapterTimeout: "10s" },
    INVALID,
    "`adapterTimeout` must be a number of milliseconds",
  ],
  [
    "skipCSRFCheck: true",
    { skipCSRFCheck: true },
    INVALID,
    "`skipCSRFCheck` is true: write the symbol `skipCSRFCheck`",
  ],
  [
    "a logger's method that is none",
    { logger: { error: "x" } },
    INVALID,
    "`logger.error` is a string: write a function",
  ],
  [
    "an origin with a query",
    { origin: "https://app.example/auth?a=b" },
    "FST_AUTHJS_ORIGIN_INVALID",
    "has a query or a fragment (`?` or `#`), which no address of the auth routes has. Leave it out: https://app.example/auth",
  ],
  [
    "an origin with a fragment",
    { origin: "https://app.example/#" },
    "FST_AUTHJS_ORIGIN_INVALID",
    "a fragment",
  ],
  ...([
    [{ allowDangerousEmailAccountLinking: "false" }, "is a string: write true or false"],
    [{ profile: {} }, "is an object: write a function"],
    [{ account: true }, "is true: write a function"],
    [{ authorization: 5 }, "is a number: write an address, or an object such as"],
    [{ token: () => {} }, "is a function: write an address"],
    [{ userinfo: ["https://a.example"] }, "is an array: write an address"],
    [{ issuer: {} }, "is an object: write a string"],
    [{ client: "client_secret_post" }, "is a string: write an object"],
    [{ clientSecret: {} }, "is an object: write a string"],
    [{ name: 5 }, "is a number: write a string"],
    [{ credentials: [] }, "is an array: write an object"],
    [{ style: "dark" }, "is a string: write an object"],
  ] as const).map(([setting, message]): [string, Settings, string, string] => {
    const [name] = Object.keys(setting);
    return [
      `${name} of a provider`,
      { providers: [github(setting)] },
      PROVIDER,
      `The \`${name}\` of the provider "github" ${message}`,
    ];
  }),
  ...[null, undefined, "Code"].map((code): [string, Settings, string, string] => [
    `a field of a form that is ${JSON.stringify(code)}`,
    { providers: [Credentials({ credentials: { username: {}, code }, authorize: () => null } as never)] },
    PROVIDER,
    'The `credentials.code` of the provider "credentials" is ',
  ]),
  ...["prompt=login", new URLSearchParams({ prompt: "login" }), ["login"], 5].map((
    params,
  ): [string, Settings, string, string] => [
    `parameters of a provider that are ${
      params instanceof URLSearchParams ? "URLSearchParams" : JSON.stringify(params)
    }`,
    { providers: [github({ authorization: { params } })] },
    PROVIDER,
    'The `authorization.params` of the provider "github" must be an object such as `{ prompt: "login" }`',
  ]),
];

for (const [what, settings, code, message] of [...REFUSED, ...TYPES]) {
  Deno.test(`a mistaken setting stops the boot and is named: ${what}`, async () => {
    const error = await refused(settings);
    assertEquals(error.code, code, error.message);
    assertStringIncludes(error.message, message);
  });
}

Deno.test("no message has the secret", async () => {
  const { message } = await refused({ secret: [SECRET, 7] });
  assert(!message.includes(SECRET));
});

Deno.test("the object of createAuth() is no configuration, and the message names its plugin", async () => {
  const auth = createAuth(testConfig());
  await using app = Fastify();
  const error = await assertRejects(
    async () => await app.register(FastifyAuth(auth as never), { prefix: "/auth" }),
    FastifyAuthError,
  );
  assertStringIncludes(error.message, "app.register(auth.plugin");
});

/** The warnings at boot. */
async function warnings(settings: Settings): Promise<string[]> {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(settings as Partial<FastifyAuthConfig>), { logger });
  await app.ready();
  return lines.filter(({ level }) => level === 40).map(({ code, msg }) => `${code} ${msg}`);
}

const WARNED: [what: string, settings: Settings, warning: string][] = [
  [
    "an option that is unknown",
    { plugins: [] },
    "FST_AUTHJS_WARN_OPTION `plugins` is no setting of this package or of @auth/core, so it has no effect.",
  ],
  [
    "a callback of next-auth",
    { callbacks: { authorized: () => true } },
    "FST_AUTHJS_WARN_OPTION `callbacks.authorized` is no setting of this package or of @auth/core, so it has no effect; there are jwt, redirect, session, signIn.",
  ],
  [
    "seconds for milliseconds",
    { providerTimeout: 10 },
    "FST_AUTHJS_WARN_OPTION `providerTimeout` is 10 milliseconds. If seconds are meant, write 10000.",
  ],
  [
    "seconds for a window",
    { rateLimit: { address: { max: 3, timeWindow: 60 } } },
    "FST_AUTHJS_WARN_OPTION `rateLimit.address.timeWindow` is 60 milliseconds.",
  ],
  [
    "milliseconds for seconds",
    { session: { maxAge: 30 * 24 * 60 * 60 * 1000 } },
    "It is a number of seconds, not of milliseconds",
  ],
  [
    "a secret in quotation marks",
    { secret: `"${SECRET}"` },
    "FST_AUTHJS_WARN_SECRET A secret begins and ends with a quotation mark",
  ],
  ["a secret from a file", { secret: `${SECRET}\n` }, "FST_AUTHJS_WARN_SECRET A secret begins and ends"],
  [
    "a secret that can be guessed",
    { secret: "abc".repeat(20) },
    "FST_AUTHJS_WARN_SECRET A secret repeats a few characters",
  ],
  [
    "a client id in quotation marks",
    { providers: [github({ clientId: '"id"' })] },
    'FST_AUTHJS_WARN_CREDENTIALS The client id of the provider "github" has quotation marks or white space around it',
  ],
  [
    "a client id of passport",
    { providers: [github({ clientID: "id" })] },
    'FST_AUTHJS_WARN_PROVIDER The provider "github" has `clientID`, which is not read: write `clientId`.',
  ],
  [
    "a scope beside the parameters",
    { providers: [github({ scope: "repo" })] },
    '`scope`, which is not read: write `authorization: { params: { scope: "…" } }`',
  ],
  [
    "a callback URL",
    { providers: [github({ callbackURL: "https://app.example/cb" })] },
    "the callback URL follows from `AUTH_URL` and the `prefix`",
  ],
  [
    "a cookie with the prefix of secure ones over http",
    { origin: "http://localhost:3000", cookies: { sessionToken: { name: "__Host-session" } } },
    'FST_AUTHJS_WARN_COOKIE `cookies.sessionToken`: at http://localhost:3000 browsers refuse "__Host-session", which is ' +
    "not `Secure`, as __Host- requires.",
  ],
  [
    "a cookie for other sites over http",
    { origin: "http://app.example", cookies: { state: { options: { sameSite: "none" } } } },
    '"authjs.state", which is not `Secure`, as `sameSite: "none"` requires',
  ],
  [
    "a domain where the name allows none",
    { origin: "https://app.example", cookies: { csrfToken: { options: { domain: "app.example" } } } },
    'browsers refuse "__Host-authjs.csrf-token" with a `domain`',
  ],
  [
    "a domain of another host",
    {
      origin: "https://app.example:8443",
      cookies: { sessionToken: { options: { domain: ".notapp.example" } } },
    },
    'at https://app.example:8443 browsers refuse "__Secure-authjs.session-token", whose `domain` is ".notapp.example"',
  ],
  [
    "a path beside the auth routes",
    { origin: "https://app.example/api/auth", cookies: { sessionToken: { options: { path: "/app" } } } },
    'whose `path` is "/app", to the auth routes at /api/auth',
  ],
  [
    "a cookie of callbacks for the same site alone",
    {
      origin: "https://app.example",
      providers: [github({ checks: ["state"] }), formPost()],
      cookies: { state: { options: { sameSite: "strict" } } },
    },
    'with `sameSite: "strict"` browsers do not send "__Host-authjs.state" when they come back from a provider',
  ],
  ...[
    ["name", { name: "state" }, "state"],
    ["domain", { options: { domain: "app.example" } }, "__Secure-authjs.state"],
    ["path", { options: { path: "/auth/" } }, "__Secure-authjs.state"],
    ["scheme", { options: { secure: false } }, "authjs.state"],
  ].map(([what, state, name]): typeof WARNED[number] => [
    `a check cookie that another host can set, by its ${what}`,
    { origin: "https://app.example", cookies: { state } } as never,
    `"${name}" has no prefix "__Host-", so another host of your domain can set it`,
  ]),
];

Deno.test("without a configured origin, cookies that browsers refuse are logged with the first request", async () => {
  const { logger, lines } = captureLog();
  const cookies = { sessionToken: { name: "__Secure-sid", options: { domain: ".app.example" } } };
  await using app = await testApp(testConfig({ cookies }), { logger, trustProxy: true });
  const logged = () => lines.filter(({ code }) => code === "FST_AUTHJS_WARN_COOKIE").length;
  const https = { host: "www.app.example", "x-forwarded-proto": "https" };
  await app.inject({ url: "/auth/csrf", headers: https });
  assertEquals(logged(), 0);
  await app.inject({ url: "/auth/csrf", headers: { host: "www.app.example" } });
  await app.inject({ url: "/auth/csrf", headers: { host: "localhost:3000" } });
  assertEquals(logged(), 1);
});

for (const [what, settings, warning] of WARNED) {
  Deno.test(`a doubtful setting is logged at boot: ${what}`, async () => {
    const found = (await warnings(settings)).filter((line) => line.includes(warning));
    assertEquals(found.length, 1, (await warnings(settings)).join("\n"));
  });
}

Deno.test("Strict check cookies are no matter where every provider answers with a form", async () => {
  const strict = { options: { sameSite: "strict" } };
  const cookies = { state: strict, pkceCodeVerifier: strict, nonce: strict, callbackUrl: strict };
  assertEquals(await warnings({ origin: "https://app.example", providers: [formPost()], cookies }), []);
});

Deno.test("settings that are unset or null are right, and so is skipCSRFCheck: false", async () => {
  const unset = { profile: undefined, account: null, client: undefined, issuer: null, token: null };
  assertEquals(
    await warnings({
      skipCSRFCheck: false,
      adapterTimeout: 0,
      origin: "https://app.example",
    }),
    [],
  );
  assertEquals(
    await warnings({ origin: "https://app.example", providers: [github(unset)] }),
    [],
  );
});

Deno.test("settings that are right are not logged, nor a scope that a factory takes", async () => {
  assertEquals(
    await warnings({
      origin: "https://app.example",
      providers: [
        github({ authorization: { params: { scope: "repo" } } }),
        AzureDevOps({ clientId: "id", clientSecret: "secret", scope: "vso.work" } as never),
      ],
      callbacks: { session: undefined },
      cookies: {
        sessionToken: { name: "sid", options: { sameSite: "Lax" } },
        csrfToken: { options: { path: "/" } },
        state: { options: { partitioned: true } },
        nonce: { name: "__Host-nonce" },
      },
      logger: { warn: () => {} },
      session: { strategy: "jwt", maxAge: 3600 },
      jwt: { maxAge: 3600 },
      rateLimit: false,
    }),
    [],
  );
});

Deno.test("a cookie that is unknown has no effect on the auth routes, with an origin or without one", async () => {
  for (const origin of [undefined, "http://localhost"]) {
    const { logger, lines } = captureLog();
    const cookies = { session: { options: { path: "/" } } } as FastifyAuthConfig["cookies"] & object;
    await using app = await testApp(testConfig({ cookies, ...(origin && { origin }) }), { logger });
    assertEquals((await app.inject("/auth/signin")).statusCode, 200);
    const warned = lines.filter(({ level }) => level >= 40).map(({ msg }) => msg);
    assertMatch(warned.join("\n"), /^`cookies.session` is no setting.*$/);
  }
});

Deno.test("variables of next-auth are named where those of Auth.js are missing", () =>
  withEnvironment({ NEXTAUTH_SECRET: SECRET, NEXTAUTH_URL: "https://app.example" }, async () => {
    assertStringIncludes(
      (await refused({ secret: undefined })).message,
      "NEXTAUTH_SECRET is not read: rename it",
    );
    await withEnvironment({ NODE_ENV: "production" }, async () => {
      const { message } = await refused({ trustHost: undefined });
      assertStringIncludes(message, "NEXTAUTH_URL is not read");
    });
  }));

/** What a sign-in logs if authorize() returns this. */
async function signInWith(user: unknown): Promise<string[]> {
  const { logger, lines } = captureLog();
  const provider = Credentials({
    credentials: { username: {}, password: {} },
    authorize: () => user as never,
  });
  await using app = await testApp(testConfig({ providers: [provider] }), { logger });
  for (let i = 0; i < 2; i++) {
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    await client.post("/auth/callback/credentials", { username: "ada", password: "open", csrfToken });
  }
  return lines.filter(({ level }) => level >= 40).map(({ code, msg }) => `${code ?? ""} ${msg}`);
}

for (
  const [what, user, warned] of [
    ["nothing", undefined, "returned undefined, so the sign-in is refused"],
    ["no id", { name: "Ada" }, "returned a user without `id`, so Auth.js makes one up"],
  ] as const
) {
  Deno.test(`authorize() that returns ${what} is logged once`, async () => {
    const lines = await signInWith(user);
    assertEquals(lines.length, 1, lines.join("\n"));
    assertMatch(lines[0]!, /^FST_AUTHJS_WARN_CALLBACK `authorize\(\)` of the provider "credentials"/);
    assertStringIncludes(lines[0]!, warned);
  });
}

Deno.test("an error of authorize() that repeats what was typed is logged without it, and says its status", async () => {
  const typed = { username: " Ada@example.com", password: "open sesame" };
  const name = "ada@example.com";
  const cause = new Error(`select 1 where name = $1 and hash = crypt($2)\nparams: ${name},${typed.password}`);
  const failed = Object.assign(new Error(`The database failed for ${name}.`, { cause }), { statusCode: 503 });
  const late = new DOMException(`${name} took too long`, "TimeoutError");
  for (
    const [error, status, logged] of [
      [failed, 503, ["params: [redacted],[redacted]", "The database failed for [redacted]."]],
      [late, 500, ["TimeoutError", "[redacted] took too long"]],
    ] as const
  ) {
    const { logger, lines } = captureLog();
    const provider = Credentials({
      credentials: { username: {}, password: {} },
      authorize: () => Promise.reject(error),
    });
    await using app = await testApp(testConfig({ providers: [provider] }), { logger });
    const client = new Client(app);
    const json = { ...typed, csrfToken: await client.csrfToken() };
    const headers = { accept: "application/json" };
    const answer = await client.request("POST", "/auth/callback/credentials", { json, headers });
    assertEquals(answer.statusCode, status);
    const log = JSON.stringify(lines);
    for (const text of logged) assertStringIncludes(log, text);
    for (const text of [name, ...Object.values(json)]) assert(!log.includes(text), text);
  }
});

Deno.test("authorize() that returns true is an error that says what to return; null and users are not logged", async () => {
  const [line] = await signInWith(true);
  assertStringIncludes(line!, "returned a boolean: return the user, as in `{ id, name, email }`, or null");
  assertEquals(await signInWith(null), []);
  assertEquals(await signInWith({ id: "1" }), []);
});

Deno.test("rows, an error or a response of authorize() or profile() are no user, and sign nobody in", async () => {
  for (
    const [user, what] of [
      [[], "an array"],
      [[{ id: "1" }], "an array"],
      [new Error("The password is wrong"), "an error"],
      [new Response(null, { status: 401 }), "a response"],
    ] as const
  ) {
    const problem = `returned ${what}: return the user, as in`;
    assertStringIncludes((await signInWith(user))[0]!, problem);
    const { logger, lines } = captureLog();
    const provider = identityProvider("one", { profile: () => user });
    await using app = await testApp(testConfig({ providers: [provider] }), { logger });
    const client = new Client(app);
    await signInAs(client, "one", { id: "1" });
    assertEquals((await client.get("/me")).json(), { session: null });
    assertStringIncludes(JSON.stringify(lines), problem);
  }
});

Deno.test("rows, an error or a response of callbacks.signIn sign nobody in", async () => {
  const results = [[], [{ id: "1" }], new Error("Not on the list"), new Response(null, { status: 403 })];
  const kinds = ["an array", "an array", "an error", "a response"];
  for (const [index, result] of results.entries()) {
    for (const signIn of [() => result, async () => await result]) {
      const { logger, lines } = captureLog();
      const config = testConfig({ providers: [identityProvider("one")], callbacks: { signIn: signIn as never } });
      await using app = await testApp(config, { logger });
      const client = new Client(app);
      const { headers } = await signInAs(client, "one", { id: "1" });
      assertStringIncludes(String(headers.location), "error=AccessDenied");
      assertEquals((await client.get("/me")).json(), { session: null });
      const problem = `\`callbacks.signIn\` returned ${kinds[index]}: return true, false or a URL.`;
      assertStringIncludes(lines.filter(({ level }) => level >= 30).map(({ msg }) => msg).join(), problem);
    }
  }
});

Deno.test("an id that other users would have is not told as missing, if it comes from the userinfo endpoint", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ providers: [identityProvider("one", { profile: undefined })] }), {
    logger,
  });
  await signInAs(new Client(app), "one", { id: 2 ** 60 as never });
  const [line] = lines.filter(({ level }) => level >= 40);
  assertMatch(line!.msg, /: `profile\(\)` of the provider "one" returned a user with the `id` 1152921504606847000,/);
});

Deno.test("account() that returns a promise is an error that says so, whatever becomes of the promise", async () => {
  for (const account of [() => Promise.resolve({ access_token: "a" }), () => Promise.reject(new Error("later"))]) {
    for (const where of [{ account }, { options: { account } }]) {
      const { logger, lines } = captureLog();
      const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
      const config = testConfig({ providers: [identityProvider("one", where)], adapter: memoryAdapter(tables) });
      await using app = await testApp(config, { logger });
      const { headers } = await signInAs(new Client(app), "one", { id: "1" });
      assertStringIncludes(String(headers.location), "error=Configuration");
      assertEquals([tables.users.size, tables.accounts], [0, []]);
      const problem = '`account()` of the provider "one" returned a promise: it is not awaited';
      assert(lines.some(({ msg }) => msg.includes(problem)), lines.map(({ msg }) => msg).join("\n"));
    }
  }
});

Deno.test("an email of profile() that is no text is an error that says so", async () => {
  for (const email of [["ada@example.com"], { value: "ada@example.com" }, 5, true]) {
    const { logger, lines } = captureLog();
    const provider = identityProvider("one", { profile: () => ({ id: "1", email }) });
    await using app = await testApp(testConfig({ providers: [provider] }), { logger });
    const { headers } = await signInAs(new Client(app), "one", { id: "1" });
    assertStringIncludes(String(headers.location), "error=OAuthCallbackError");
    const problem = '`profile()` of the provider "one" returned a user whose `email` is no text';
    assert(lines.some(({ msg }) => msg.includes(problem)), lines.map(({ msg }) => msg).join("\n"));
  }
});

Deno.test("profile() refuses a sign-in with any falsy result, as authorize() does", async () => {
  for (const adapter of [undefined, memoryAdapter()]) {
    for (const user of [null, undefined, false, "", 0, NaN]) {
      const providers = [identityProvider("one", { profile: () => user })];
      await using app = await testApp(testConfig({ providers, ...(adapter && { adapter }) }));
      const client = new Client(app);
      const { headers } = await signInAs(client, "one", { id: "1" });
      assertStringIncludes(String(headers.location), "error=OAuthCallbackError", String(user));
      assertEquals((await client.get("/me")).json(), { session: null });
    }
  }
});

Deno.test("an id that would be that of every user is an error of authorize() and profile(), and signs nobody in", async () => {
  // A method that was not called; numbers to which JSON and drivers of databases round others.
  const ids = [Promise.resolve("1"), { value: "1" }, NaN, true, () => "1", Symbol("1"), Infinity, 2 ** 53, "", []];
  for (const id of ids) {
    const problem = `returned a user with the \`id\` ${String(id) || '""'}`;
    assertStringIncludes((await signInWith({ id }))[0]!, problem);
    const { logger, lines } = captureLog();
    const provider = identityProvider("one", { profile: () => ({ id }) });
    await using app = await testApp(testConfig({ providers: [provider] }), { logger });
    const client = new Client(app);
    await signInAs(client, "one", { id: "1" });
    assertEquals((await client.get("/me")).json(), { session: null });
    assert(lines.some(({ msg }) => msg.includes(problem)), String(id));
  }
  class ObjectId {
    toString = () => "65f0";
  }
  for (const id of ["NaN", "[object Object]", new ObjectId(), 7n, 2 ** 53 - 1, -1.5]) {
    assertEquals(await signInWith({ id }), []);
  }
});

Deno.test("callbacks and codecs that are methods of a class are called, with their `this`", async () => {
  class Callbacks {
    #roles = { ada: "admin" };
    jwt({ token }: { token: JWT }) {
      return { ...token, role: this.#roles[token.name as "ada"] };
    }
    session({ session, token }: { session: object; token: JWT }) {
      return { ...session, role: token.role };
    }
    signIn({ user }: { user: { name?: string | null } }) {
      return Object.hasOwn(this.#roles, user.name!);
    }
  }
  class Codec {
    #prefix = "own:";
    encode({ token }: JWTEncodeParams) {
      return Promise.resolve(this.#prefix + btoa(JSON.stringify(token)));
    }
    decode({ token }: JWTDecodeParams) {
      return Promise.resolve(JSON.parse(atob(token!.slice(this.#prefix.length))));
    }
  }
  class Told {
    #names: string[] = [];
    get names() {
      return this.#names;
    }
    signIn({ user }: { user: { name?: string | null } }) {
      this.#names.push(`signed in: ${user.name}`);
    }
    session() {
      this.#names.push("read");
    }
    error({ name }: Error) {
      this.#names.push(name);
    }
  }
  class Lifetime {
    #count = 0;
    generateSessionToken() {
      return `token-${++this.#count}-${crypto.randomUUID()}`;
    }
  }
  const told = new Told() as Told & NonNullable<FastifyAuthConfig["events"]> & { warn?: never; debug?: never };
  const callbacks = new Callbacks() as unknown as NonNullable<FastifyAuthConfig["callbacks"]>;
  const config = testConfig({
    callbacks,
    jwt: new Codec(),
    events: told as unknown as NonNullable<FastifyAuthConfig["events"]>,
    logger: told as never,
    session: new Lifetime(),
  });
  await using app = await testApp(config);
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  assert(client.cookies.get("authjs.session-token")!.startsWith("own%3A"), [...client.cookies].join());
  assertEquals((await client.get("/auth/session")).json().role, "admin");
  const other = new Client(app);
  await other.signIn({ username: "bob", password: "open" }).catch(() => {});
  assertEquals((await other.get("/auth/session")).json(), null);
  assertEquals(told.names, ["signed in: ada", "read", "AccessDenied"]);
});
