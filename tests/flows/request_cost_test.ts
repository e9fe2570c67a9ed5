/** What a request costs grows no faster than its length, whatever its headers, query and body say. */
import { assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, memoryStore } from "fastify-authjs";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Passkey from "fastify-authjs/providers/passkey";
import { Buffer } from "node:buffer";
import process from "node:process";
import { AdapterFailure } from "../../src/adapter/failure.ts";
import { cookieNames } from "../../src/config/cookies.ts";
import { readOAuthError, toLoggable } from "../../src/provider/provider_error.ts";
import { passwordProvider, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { identityProvider } from "../support/identity.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { someOf } from "../support/thorough.ts";

/** As much as fits into the head of a request. */
const LENGTH = 15_000;

/** What is repeated: patterns and loops may begin anew at each of them. */
const UNITS = [
  ...[" ", "\t", ",", ";", "=", "/", ".", "-", '"', "\\", "%", "&", "+", "<", "(", "@", ":", "0", "\u00e9"],
  ...[
    "a ",
    "a,",
    "a, ",
    "a=b; ",
    "a/",
    "a.",
    "a-",
    '"a,',
    '\\"',
    "%25",
    "%40",
    "%3d",
    "eyJ.",
    "a@",
    "&a=",
    "../",
  ],
  ...[
    "en-a,",
    "zh-tw,",
    "a;q=0.1,",
    "*/*,",
    'text/html;q="',
    "http://",
    "[{",
    "prefetch",
    "\ufb03",
    "\u0130",
  ],
  // Marks that normalizing has to sort.
  "\u0301\u0323",
];

/** Values of that length; each begins or ends in its own way, since some are remembered. */
const VALUES: readonly ((own: number) => string)[] = [
  ...UNITS.flatMap((unit) => {
    const text = unit.repeat(LENGTH / unit.length);
    return [(own: number) => `${text}${own}`, (own: number) => `${own}${text}!`];
  }),
  // Names that differ.
  ...["&", "=&", "; ", "=a; ", ","].map((end) => (own: number) =>
    Array.from({ length: LENGTH / 5 }, (_, i) => (own + i).toString(36)).join(end).slice(0, LENGTH)
  ),
];

/** A way to put a value into a request. */
interface Field {
  readonly name: string;
  readonly send: (value: string) => Promise<unknown>;
}

const HEADERS = [
  ..."accept accept-language authorization cache-control content-encoding content-type cookie".split(" "),
  ..."forwarded host origin referer sec-fetch-mode sec-fetch-site sec-purpose upgrade user-agent".split(" "),
  ..."x-auth-return-redirect x-forwarded-for x-forwarded-host x-forwarded-proto".split(" "),
];

/** What a header has to begin with to be read further. */
const BEGINNINGS: Readonly<Record<string, readonly string[]>> = {
  accept: ["application/json,"],
  authorization: ["Bearer ", "Bearer eyJ.", "Basic "],
  "content-type": ["application/x-www-form-urlencoded;", "multipart/form-data; boundary="],
  forwarded: ["for=a;proto="],
  origin: ["http://"],
  referer: ["http://localhost/"],
};

interface Setup {
  readonly app: FastifyInstance;
  readonly client: Client;
  readonly csrfToken: string;
}

/** An application with every feature that reads a part of a request. */
async function fullApp(): Promise<Setup> {
  const auth = createAuth(testConfig({
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    store: memoryStore(),
    revocable: true,
    bearer: true,
    stepUp: true,
    providerLogout: { backchannel: true },
    experimental: { enableWebAuthn: true },
    rateLimit: {
      address: false,
      accountFromAddress: false,
      account: { max: 1_000_000, timeWindow: 1_000_000 },
      mail: { max: 1_000_000, timeWindow: 1_000_000 },
    },
    providers: [
      passwordProvider(),
      identityProvider("acme") as never,
      {
        ...identityProvider("op"),
        type: "oidc",
        issuer: "https://identity.invalid",
        jwks_endpoint: "https://identity.invalid/keys",
        checks: ["pkce", "state", "nonce"],
      } as never,
      Nodemailer({ server: "smtp://127.0.0.1:1", sendVerificationRequest: () => {} }),
      Passkey,
    ],
  }));
  const app = Fastify({ trustProxy: "127.0.0.1" }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "for you");
  app.get("/fresh", { onRequest: auth.requireSession({ maxAge: 60 }) }, () => "for you");
  app.post("/sign-out", (request, reply) => auth.signOut(request, reply));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  return { app, client, csrfToken: await client.csrfToken() };
}

const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const FORM = "application/x-www-form-urlencoded";

/** As Node gives the bytes of a header. */
const asHeader = (value: string) => Buffer.from(value).toString("latin1").slice(0, LENGTH);

function headerFields({ app, client, csrfToken }: Setup): Field[] {
  const payload = form({ csrfToken, username: "ada", password: "wrong" });
  const send = async (name: string, value: string) => {
    const headers = { cookie: client.cookie!, accept: "text/html", "content-type": FORM, [name]: value };
    for (const url of ["/auth/signin", "/guarded", "/fresh"]) await app.inject({ url, headers });
    for (const url of ["/sign-out", "/auth/callback/credentials"]) {
      await app.inject({
        method: "POST",
        url,
        headers: { "sec-fetch-site": "same-origin", ...headers },
        payload,
      });
    }
  };
  return HEADERS.flatMap((name) =>
    ["", ...BEGINNINGS[name] ?? []].map((beginning) => ({
      name: `${name}: ${beginning}`,
      send: (value: string) => send(name, beginning + asHeader(value)),
    }))
  );
}

function cookieFields({ app, client }: Setup): Field[] {
  const own = ["email-confirm", "step-up", "sign-in", "signed-out"].map((name) => `authjs.${name}`);
  const names = [...cookieNames({}, false), ...own];
  const all = [...names, `${names[0]}.0`, `${names[0]}.1`, "authjs.ui-locales"];
  const email = "callback/nodemailer?email=a@b.example&token=a";
  const payload = form({ csrfToken: "a", data: "{}", action: "authenticate" });
  const send = async (pair: string, name: string) => {
    const others = [...client.cookies].filter(([other]) => other !== name).map((pair) => pair.join("="));
    const headers = { cookie: [...others, pair].join("; "), accept: "text/html", "content-type": FORM };
    for (const path of ["signin", "csrf", "callback/acme?code=a&state=b", "signed-out?state=a", email]) {
      await app.inject({ url: `/auth/${path}`, headers });
    }
    await app.inject({ url: "/fresh", headers });
    await app.inject({ method: "POST", url: "/auth/callback/passkey", headers, payload });
  };
  return all.flatMap((name) => [
    { name: `the cookie ${name}`, send: (value: string) => send(`${name}=${asHeader(value)}`, name) },
    { name: `a cookie named ${name}…`, send: (value: string) => send(`${name}${asHeader(value)}=1`, "") },
  ]);
}

const QUERIES: Readonly<Record<string, readonly string[]>> = {
  "/auth/signin": ["callbackUrl", "error", "email", "ui_locales", "code"],
  "/auth/error": ["error", "code", "ui_locales"],
  "/auth/signout": ["callbackUrl"],
  "/auth/signed-out": ["state"],
  "/auth/verify-request": ["callbackUrl", "provider", "type"],
  "/auth/callback/acme": ["code", "state", "iss", "error", "error_description", "error_code"],
  "/auth/callback/op": ["code", "state", "iss", "error", "error_description"],
  "/auth/callback/nodemailer": ["email", "token", "callbackUrl"],
  "/auth/webauthn-options/passkey": ["action", "email"],
  "/guarded": ["x"],
};

function queryFields({ app, client }: Setup): Field[] {
  const get = (url: string) =>
    app.inject({ url: url.slice(0, LENGTH), headers: { cookie: client.cookie!, accept: "text/html" } });
  return Object.entries(QUERIES).flatMap(([path, names]) => [
    { name: `${path}?`, send: (value: string) => get(`${path}?${value}`) },
    { name: `${path}/`, send: (value: string) => get(`${path}/${value}`) },
    ...names.map((name) => ({
      name: `${path}?${name}=`,
      send: (value: string) => get(`${path}?${name}=${value.replaceAll("&", "%26")}`),
    })),
  ]);
}

const BODIES: Readonly<Record<string, readonly string[]>> = {
  "/auth/callback/credentials": ["csrfToken", "callbackUrl", "username", "password"],
  "/auth/signin/acme": ["csrfToken", "callbackUrl"],
  "/auth/signin/nodemailer": ["email", "callbackUrl"],
  "/auth/callback/nodemailer": ["email", "token"],
  "/auth/callback/passkey": ["data", "action"],
  "/auth/backchannel-logout/op": ["logout_token"],
  "/auth/session": ["data"],
  "/auth/signout": ["callbackUrl"],
  "/auth/token": ["csrfToken"],
};

function bodyFields({ app, client, csrfToken }: Setup): Field[] {
  const post = async (url: string, type: string, payload: string) => {
    const headers = { cookie: client.cookie!, "content-type": type };
    await app.inject({ method: "POST", url, headers, payload });
  };
  return Object.entries(BODIES).flatMap(([path, names]) => [
    { name: `${path}, the form`, send: (value: string) => post(path, FORM, value) },
    { name: `${path}, the JSON`, send: (value: string) => post(path, "application/json", value) },
    {
      name: `${path}, the multipart form`,
      send: (value: string) => post(path, "multipart/form-data; boundary=-", `---\r\n${value}`),
    },
    ...names.map((name) => ({
      name: `${path}, ${name}`,
      send: (value: string) => post(path, FORM, form({ csrfToken, action: "authenticate", [name]: value })),
    })),
  ]);
}

/** What providers and databases say. */
function answerFields(): Field[] {
  const run = (name: string, read: (value: string) => unknown): Field => ({
    name,
    send: async (value) => void await read(value),
  });
  const failed = (headers: Record<string, string>, body = "") =>
    readOAuthError(new Response(body, { status: 401, headers }));
  return [
    ...["", "Bearer error=", 'Bearer error="', "Bearer error"].map((beginning) =>
      run(`www-authenticate: ${beginning}`, (value) => {
        // Those that a header cannot have.
        return failed({ "www-authenticate": `${beginning}${value.replace(/[^\t\x20-\xff]/g, "a")}` });
      })
    ),
    run(
      "a description",
      (value) => toLoggable({ error: value, error_description: value }, [["state", value]]),
    ),
    run(
      "the reason of a database",
      (value) => new AdapterFailure("getUser", "refused", { cause: new Error(value) }),
    ),
    run(
      "the table of a database",
      (value) => new AdapterFailure("getUser", "refused", { cause: new Error("table ".repeat(1_000) + value) }),
    ),
  ];
}

/** The CPU that a request takes, in microseconds. */
async function costOf({ send }: Field, value: string): Promise<number> {
  const before = process.cpuUsage();
  await send(value);
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Tries that are apart: the cost of a request has that of a garbage collection in it, for example. */
const TRIES = 6;

let count = 0;

/** The least of some tries, until it is little enough. */
async function leastCostOf(field: Field, valueOf: (own: number) => string, enough: number): Promise<number> {
  let least = Infinity;
  for (let tried = 0; tried < TRIES && least > enough; tried++) {
    if (tried > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    least = Math.min(least, await costOf(field, valueOf(count++)));
  }
  return least;
}

const KINDS = {
  header: headerFields,
  cookie: cookieFields,
  query: queryFields,
  body: bodyFields,
  "provider's or database's answer": answerFields,
};

for (const [kind, fieldsOf] of Object.entries(KINDS)) {
  Deno.test(`X3: no value of 15 KB in a ${kind} costs much more than a harmless one`, async () => {
    const setup = await fullApp();
    await using _app = setup.app;
    const costly: string[] = [];
    for (const [turn, field] of fieldsOf(setup).entries()) {
      const harmless = [];
      for (let i = 0; i < 5; i++) harmless.push(await costOf(field, "a".repeat(LENGTH) + count++));
      // What takes the square of its length takes hundreds of milliseconds; a busy machine adds some tens.
      const enough = 20 * Math.min(...harmless) + 50_000;
      for (const valueOf of someOf(VALUES, turn, 5)) {
        const least = await leastCostOf(field, valueOf, enough);
        if (least > enough) {
          costly.push(`${field.name} ${valueOf(0).slice(0, 20)}: ${least} µs, more than ${enough}`);
        }
      }
    }
    assertEquals(costly, []);
  });
}
