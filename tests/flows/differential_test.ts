/**
 * The same requests to a plain port of the Express integration and to this plugin. Each difference in what a client sees
 * follows from a row of docs/migrate.md, and each row of that table is needed.
 */
import { assert, assertEquals } from "@std/assert";
import type { AuthConfig } from "@auth/core";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { readFile } from "node:fs/promises";
import { SECRET } from "../support/app.ts";
import { type Answer, Client, setCookies } from "../support/client.ts";
import { plainPort } from "../support/plain_port.ts";
import { type Random, seededRandom } from "../support/random.ts";

const SEQUENCES = 200;

function configuration() {
  return {
    secret: SECRET,
    trustHost: true,
    providers: [
      Credentials({
        credentials: { username: {}, password: {} },
        authorize: ({ username, password }) => password === "open" ? { id: "1", name: String(username) } : null,
      }),
      {
        id: "op",
        name: "OP",
        type: "oauth",
        clientId: "client",
        clientSecret: "secret",
        authorization: "https://op.example/authorize?scope=profile",
        token: "https://op.example/token",
        userinfo: "https://op.example/userinfo",
        checks: ["pkce", "state"],
        profile: (profile: { id: string }) => profile,
      },
    ],
  };
}

/** What a client sends. */
interface Step {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The fields of the body; without `csrfToken` it is not sent. */
  readonly fields: Readonly<Record<string, string>>;
  readonly csrf: boolean;
  readonly encoding: "form" | "json";
  readonly headers: Readonly<Record<string, string>>;
}

const CALLBACK_URLS = [
  "/page",
  "/page?a=1#b",
  "http://localhost/page",
  "http://localhost:80/page",
  "https://evil.example/",
  "//evil.example/x",
  "/日本",
  "javascript:alert(1)",
  "page",
];

const BROWSER = { accept: "text/html" };
const JSON_CLIENT = { accept: "application/json" };
const SCRIPT = { "x-auth-return-redirect": "1", accept: "*/*" };

function randomStep(random: Random): Step {
  const [method, path] = random.pick<[Step["method"], string]>([
    ["GET", "csrf"],
    ["GET", "providers"],
    ["GET", "session"],
    ["GET", "session"],
    ["GET", "signin"],
    ["GET", "signin/op"],
    ["GET", "signin/nope"],
    ["GET", "signout"],
    ["GET", "error"],
    ["GET", "verify-request"],
    ["GET", "nope"],
    ["GET", "callback/op"],
    ["GET", "callback/nope"],
    ["POST", "signin/op"],
    ["POST", "signin/op"],
    ["POST", "signin/nope"],
    ["POST", "callback/credentials"],
    ["POST", "callback/credentials"],
    ["POST", "callback/credentials"],
    ["POST", "signout"],
    ["POST", "session"],
    ["POST", "nope"],
    ["PUT", "session"],
    ["DELETE", "signin"],
  ]);
  const callbackUrl = random.oneIn(2) ? { callbackUrl: random.pick(CALLBACK_URLS) } : {};
  const inQuery = random.oneIn(3);
  const isPage = method === "GET" && /^(?:signin|signout|error)/.test(path);
  return {
    method,
    path,
    query: {
      ...(inQuery || isPage ? callbackUrl : {}),
      ...(path === "error" &&
        { error: random.pick(["AccessDenied", "Configuration", "Verification", "Nope"]) }),
      ...(path === "signin" && random.oneIn(4) && { error: "CredentialsSignin" }),
      ...(path === "callback/op" && { code: "code", state: "state" }),
    },
    fields: {
      ...(inQuery ? {} : callbackUrl),
      ...(path === "callback/credentials" && {
        username: random.pick(["ada", "grace"]),
        password: random.pick(["open", "open", "wrong"]),
      }),
    },
    csrf: !random.oneIn(5),
    encoding: random.pick(["form", "json"]),
    headers: random.pick([BROWSER, BROWSER, JSON_CLIENT, SCRIPT, {}]),
  };
}

/** What a client sees of a reply. */
interface Seen {
  readonly status: number;
  readonly location: string | undefined;
  readonly type: string;
  /** Each with its attributes, and whether it is set or removed; the callback URL with its value. */
  readonly cookies: readonly string[];
  /** Of JSON. */
  readonly body: unknown;
}

function look(answer: Answer): Seen {
  const { location } = answer.headers as { location?: string };
  const type = String(answer.headers["content-type"] ?? "").split(";")[0]!;
  return {
    status: answer.statusCode,
    location: location && withoutRandom(location),
    type,
    cookies: setCookies(answer).map(lookAtCookie).sort(),
    body: type === "application/json" ? lookAtBody(answer.json()) : undefined,
  };
}

/** Without values that differ in each reply. */
function withoutRandom(address: string): string {
  const url = new URL(address, ORIGIN);
  for (const name of ["state", "code_challenge"]) {
    if (url.searchParams.has(name)) url.searchParams.set(name, "…");
  }
  return url.href;
}

function lookAtBody(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const { message: _text, statusCode: _status, ...rest } = body as Record<string, unknown>;
  if (_status !== undefined) return { code: rest.code };
  for (const name of ["csrfToken", "expires"]) if (name in rest) rest[name] = "…";
  if (typeof rest.url === "string") rest.url = withoutRandom(rest.url);
  return rest;
}

function lookAtCookie(line: string): string {
  const [pair = "", ...attributes] = line.split("; ");
  const name = pair.slice(0, pair.indexOf("=")).replace(/^authjs\.state\..{19}$/, ATTEMPT_COOKIE);
  const value = pair.slice(pair.indexOf("=") + 1);
  const removed = value === "" || attributes.some((each) => /^max-age=0$/i.test(each));
  const kept = attributes.filter((each) => !/^(?:expires|max-age)=/i.test(each)).sort();
  const shown = removed ? "removed" : name === CALLBACK_COOKIE ? decodeURIComponent(value) : "set";
  return [`${name} ${shown}`, ...kept].join("; ");
}

const ORIGIN = "http://localhost";
const CALLBACK_COOKIE = "authjs.callback-url";
const ATTEMPT_COOKIE = "authjs.state.…";
const FORM_COOKIE = "authjs.form";
const SESSION_COOKIE = "authjs.session-token";
const ATTRIBUTES = "HttpOnly; Path=/; SameSite=Lax";

/** Why this plugin answers otherwise than a plain port. */
interface Rule {
  /** The beginning of its row in docs/migrate.md. */
  readonly row: string;
  /** The request that a plain port would have to get. */
  readonly sends?: (step: Step) => Step;
  /** The reply that a plain port would have to give. */
  readonly answers?: (seen: Seen, step: Step, cookies: ReadonlyMap<string, string>) => Seen;
}

const isFrom = (step: Step, client: object) => step.headers === client;

const asks = ({ csrf, method }: Step) => method === "POST" && !csrf;

function refusal(status: number, code: string, step: Step): Seen {
  const isPage = isFrom(step, BROWSER) && status === 404;
  return {
    status,
    location: undefined,
    type: isPage ? "text/html" : "application/json",
    cookies: [],
    body: isPage ? undefined : { code },
  };
}

function withCallbackUrl(step: Step, change: (url: string) => string | undefined): Step {
  const changed = (fields: Step["query"]) => {
    const { callbackUrl, ...rest } = fields;
    const url = callbackUrl === undefined ? undefined : change(callbackUrl);
    return url === undefined ? rest : { ...rest, callbackUrl: url };
  };
  return { ...step, query: changed(step.query), fields: changed(step.fields) };
}

/** A reply that leads elsewhere. */
function leadTo(seen: Seen, change: (url: URL) => void): Seen {
  const { url: inBody } = (seen.body ?? {}) as { url?: string };
  const given = seen.location ?? inBody;
  if (given === undefined) return seen;
  const url = new URL(given);
  change(url);
  return {
    ...seen,
    ...(seen.location !== undefined && { location: url.href }),
    ...(inBody !== undefined && { body: { url: url.href } }),
  };
}

const READS = ["csrf", "providers", "session"];

/** In this order: some build on those before. */
const RULES: readonly Rule[] = [
  {
    row: "a `callbackUrl` that is no path and no http address",
    sends: (step) => withCallbackUrl(step, (url) => /^(?:\/|http)/.test(url) ? url : ORIGIN),
  },
  {
    row: "a `callbackUrl` with `//`, a default port or characters that are not ASCII",
    sends: (step) =>
      withCallbackUrl(step, (url) => {
        const { href } = new URL(url.replace(/^\/+/, "/"), ORIGIN);
        if (url.startsWith("/")) return href.slice(ORIGIN.length);
        return href === `${url}/` ? url : href;
      }),
  },
  {
    row: "`callbackUrl` in the query of a POST",
    sends: ({ query: { callbackUrl, ...query }, ...step }) =>
      callbackUrl === undefined || step.method !== "POST" || step.path === "session"
        ? { ...step, query: callbackUrl === undefined ? query : { ...query, callbackUrl } }
        : { ...step, query, fields: { callbackUrl, ...step.fields } },
  },
  {
    row: "`callbackUrl` in the query of `csrf`, `providers`, `session` or a callback",
    sends: ({ query: { callbackUrl, ...query }, ...step }) =>
      callbackUrl === undefined || !(READS.includes(step.path) || step.path.startsWith("callback/"))
        ? { ...step, query: callbackUrl === undefined ? query : { ...query, callbackUrl } }
        : { ...step, query },
  },
  {
    row: "a method that the route does not have",
    answers: (seen, step) =>
      /^(?:PUT|DELETE)$/.test(step.method) ? refusal(405, "FST_AUTHJS_METHOD_NOT_ALLOWED", step) : seen,
  },
  {
    row: "an unknown action or provider",
    answers: (seen, step) => /nope/.test(step.path) ? refusal(404, "FST_AUTHJS_NOT_FOUND", step) : seen,
  },
  {
    row: "`GET signin/:provider`",
    answers: (seen, { method, path, query: { callbackUrl } }) => {
      if (method !== "GET" || path !== "signin/op") return seen;
      const page = `${ORIGIN}/auth/signin${callbackUrl ? `?${new URLSearchParams({ callbackUrl })}` : ""}`;
      const led = leadTo(seen, (url) => url.href = page);
      return { ...led, cookies: [], ...(seen.body !== undefined && { location: page }) };
    },
  },
  {
    row: "a callback without the cookies of its sign-in",
    answers: (seen, { path, method }) =>
      method === "GET" && path === "callback/op"
        ? leadTo(seen, (url) => url.searchParams.set("code", "sign_in_expired"))
        : seen,
  },
  {
    row: "the same in a browser that is signed in",
    answers: (seen, { path, method }, cookies) =>
      method === "GET" && path === "callback/op" && seen.status === 302 && cookies.has(SESSION_COOKIE)
        ? { ...seen, location: withoutRandom(decodeURIComponent(cookies.get(CALLBACK_COOKIE) ?? ORIGIN)) }
        : seen,
  },
  {
    row: "the cookies of a sign-in that begins",
    answers: (seen) => {
      const others = seen.cookies.filter((cookie) => !/^authjs\.(?:pkce\.code_verifier|state) /.test(cookie));
      if (others.length === seen.cookies.length) return seen;
      return { ...seen, cookies: [...others, `${ATTEMPT_COOKIE} set; ${ATTRIBUTES}`].sort() };
    },
  },
  {
    row: "a POST without a CSRF token",
    answers: (seen, step) =>
      asks(step)
        ? leadTo(seen, (url) => {
          if (url.searchParams.get("error") === "MissingCSRF") {
            url.searchParams.set("code", "csrf_token_missing");
          }
        })
        : seen,
  },
  {
    row: "a sign-in that fails",
    answers: (seen, { path, method, fields: { callbackUrl } }) =>
      method !== "POST" || !/^(?:callback|signin)\//.test(path) || callbackUrl === undefined
        ? seen
        : leadTo(seen, (url) => {
          if (url.pathname !== "/auth/signin") return;
          const target = new URL(callbackUrl, ORIGIN);
          const address = callbackUrl.startsWith("/") ? `${ORIGIN}${callbackUrl}` : callbackUrl;
          url.searchParams.set("callbackUrl", target.origin === ORIGIN ? address : ORIGIN);
        }),
  },
  {
    row: "the error page for a mistake in the configuration, or for an error that core does not know",
    answers: (seen, { path, method }) =>
      method === "GET" && path === "error" && seen.status === 500 ? { ...seen, status: 200 } : seen,
  },
  {
    row: "`session`",
    answers: (seen, { path, method }) => {
      if (path !== "session") return seen;
      const cookies = seen.cookies.filter((cookie) => method === "POST" && cookie.includes("session-token"));
      return { ...seen, cookies };
    },
  },
  {
    row: "a client with `Accept: application/json`",
    answers: (seen, step) => {
      if (!isFrom(step, JSON_CLIENT)) return seen;
      if (step.path === "session" && seen.status === 400) {
        return { ...seen, status: 403, body: { error: "MissingCSRF", code: "csrf_token_missing" } };
      }
      if (seen.status !== 302) return seen;
      const { searchParams } = new URL(seen.location!);
      const error = searchParams.get("error");
      const code = searchParams.get("code");
      const asJson = { ...seen, type: "application/json" };
      return error === null ? { ...asJson, status: 200, body: { url: seen.location } } : {
        ...asJson,
        status: error === "MissingCSRF" ? 403 : 401,
        location: undefined,
        body: { error, code },
      };
    },
  },
  {
    row: "a form of the sign-in page that fails, or a callback that is late",
    answers: (seen, { path, method }, cookies) => {
      const fails = method === "POST" && path === "callback/credentials" && seen.status === 302 &&
        new URL(seen.location!).searchParams.has("error");
      const isLate = method === "GET" && path === "callback/op" && seen.status === 302 &&
        !cookies.has(SESSION_COOKIE);
      const held = decodeURIComponent(cookies.get(FORM_COOKIE) ?? "");
      const shows = method === "GET" &&
        (path === "signin" ? held !== "" : path === "error" && held.includes('"again":true'));
      if (!fails && !isLate && !shows) return seen;
      const cookie = `${FORM_COOKIE} ${shows ? "removed" : "set"}; ${ATTRIBUTES}`;
      return { ...seen, cookies: [...seen.cookies, cookie].sort() };
    },
  },
  {
    row: "a sign-in, if there are several methods",
    answers: (seen, { path }) => {
      const signsIn = path.startsWith("callback/") &&
        seen.cookies.some((line) => line.startsWith(`${SESSION_COOKIE} set`));
      if (!signsIn) return seen;
      return { ...seen, cookies: [...seen.cookies, `authjs.last-used set; ${ATTRIBUTES}`].sort() };
    },
  },
  {
    row: "the content type of a redirect",
    answers: (seen) => seen.status === 302 ? { ...seen, type: "" } : seen,
  },
];

/** A plain port's reply, as the rules change it, and those that did. */
async function expected(port: FastifyInstance, step: Step, browser: Client, csrfToken: string) {
  const used = new Set<string>();
  const changed = <T>(rule: Rule, before: T, after: T): T => {
    if (JSON.stringify(before) !== JSON.stringify(after)) used.add(rule.row);
    return after;
  };
  const sent = RULES.reduce((step, rule) => changed(rule, step, rule.sends?.(step) ?? step), step);
  const other = new Client(port);
  for (const [name, value] of browser.cookies) other.cookies.set(name, value);
  const cookies = new Map(other.cookies);
  const reply = await send(other, sent, csrfToken);
  const seen = RULES.reduce(
    (seen, rule) => changed(rule, seen, rule.answers?.(seen, sent, cookies) ?? seen),
    reply,
  );
  return { seen, used };
}

async function send(
  client: Client,
  { method, path, query, fields, csrf, encoding, headers }: Step,
  csrfToken: string,
) {
  const search = new URLSearchParams(query).toString();
  const body = { ...fields, ...(csrf && { csrfToken }) };
  return look(
    await client.request(method, `/auth/${path}${search && `?${search}`}`, {
      headers: { ...headers },
      ...(method !== "GET" && (encoding === "json" ? { json: body } : { form: body })),
    }),
  );
}

Deno.test("what differs from a plain port is in docs/migrate.md, and nothing else differs", async () => {
  const random = seededRandom();
  const port = plainPort(configuration() as unknown as AuthConfig);
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(configuration() as unknown as FastifyAuthConfig), { prefix: "/auth" });
  const used = new Set<string>();
  for (let sequence = 0; sequence < SEQUENCES; sequence++) {
    const browser = new Client(app); // The port gets the same cookies.
    for (let left = 2 + random.int(6); left > 0; left--) {
      const step = randomStep(random);
      const csrfToken = step.method !== "GET" && step.csrf ? await browser.csrfToken() : "";
      const before = await expected(port, step, browser, csrfToken);
      const actual = await send(browser, step, csrfToken);
      const where = `TEST_SEED=${random.seed}, sequence ${sequence}: ${JSON.stringify(step)}`;
      assertEquals(actual, before.seen, where);
      before.used.forEach((row) => used.add(row));
    }
  }
  await port.close();
  assertEquals(RULES.map(({ row }) => row).filter((row) => !used.has(row)), [], "no reply differs by these");
  const docs = await readFile(new URL("../../docs/migrate.md", import.meta.url), "utf8");
  for (const { row } of RULES) assert(docs.includes(`| ${row}`), `docs/migrate.md has no row "${row}"`);
});
