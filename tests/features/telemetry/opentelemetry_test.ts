/** Spans and metrics of OpenTelemetry, by `fastify-authjs/opentelemetry`. */
import { assert, assertEquals, assertFalse } from "@std/assert";
import { context, isSpanContextValid, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { type Instrumentation, registerInstrumentations } from "@opentelemetry/instrumentation";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
  ATTR_SERVER_ADDRESS,
  ATTR_SERVER_PORT,
  ATTR_URL_FULL,
} from "@opentelemetry/semantic-conventions";
import { FastifyOtelInstrumentation } from "@fastify/otel";
import Fastify, { type FastifyInstance } from "fastify";
import { subscribe, tracingChannel, unsubscribe } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { createAuth, CredentialsSignin, customFetch, type FastifyAuthConfig } from "fastify-authjs";
import { withAccountList } from "fastify-authjs/adapters";
import { FastifyAuthInstrumentation } from "fastify-authjs/opentelemetry";
import Credentials from "fastify-authjs/providers/credentials";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { captureLog, type LogLine, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { locationOf, startSignIn } from "../../support/oauth_client.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";
import { signInThrough } from "../../support/scripted_sign_in.ts";
import { Recorder, withContext } from "../../support/telemetry.ts";
import { ACTIONS, ENDPOINTS, EVENTS, METRICS, SPANS } from "../../support/telemetry_names.ts";
import { emptyTables, WebAuthnClient, webAuthnConfig } from "../../support/webauthn.ts";
import { SoftwareAuthenticator } from "../../support/webauthn_authenticator.ts";

/** Runs a test with the instrumentation and an SDK. */
async function recorded(
  run: (recorder: Recorder) => Promise<void>,
  config: ConstructorParameters<typeof FastifyAuthInstrumentation>[0] = {},
): Promise<void> {
  const recorder = new Recorder();
  const instrumentation = new FastifyAuthInstrumentation(config);
  instrumentation.setTracerProvider(recorder.tracerProvider);
  instrumentation.setMeterProvider(recorder.meterProvider);
  try {
    await withContext(() => run(recorder));
  } finally {
    instrumentation.disable();
  }
}

function oidc(issuer: string, overrides: object = {}) {
  return {
    id: "op",
    name: "OP",
    type: "oidc",
    issuer,
    clientId: "client",
    clientSecret: "client-secret-planted",
    checks: ["state", "pkce", "nonce"],
    ...overrides,
  } as FastifyAuthConfig["providers"][number];
}

/** The spans below a span, as a tree of names. */
function treeOf(spans: readonly ReadableSpan[], parent?: string): unknown[] {
  return spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent).map((span) => {
    const children = treeOf(spans, span.spanContext().spanId);
    return children.length === 0 ? span.name : [span.name, children];
  });
}

Deno.test("a sign-in is a span, and requests to the provider and calls of the adapter are spans in it", async () => {
  await recorded(async (recorder) => {
    await using provider = await ScriptedProvider.start();
    const adapter = memoryAdapter();
    const config = testConfig({ adapter, providers: [oidc(provider.issuer, { idToken: false })] });
    await using app = await testApp(config);
    await signInThrough(new Client(app), provider);
    assertEquals(treeOf(recorder.spans), [
      "authjs.csrf",
      ["authjs.signin", ["GET discovery"]],
      ["authjs.callback", [
        "POST token",
        "GET jwks",
        "GET userinfo",
        "authjs.adapter.getUserByAccount",
        "authjs.adapter.getUserByAccount",
        "authjs.adapter.getUserByEmail",
        "authjs.adapter.createUser",
        "authjs.adapter.linkAccount",
        "authjs.adapter.createSession",
      ]],
    ]);
    const { port } = new URL(provider.issuer);
    const token = recorder.spans.find(({ name }) => name === "POST token")!;
    assertEquals(token.kind, SpanKind.CLIENT);
    assertEquals(token.attributes, {
      "authjs.provider.id": "op",
      "authjs.provider.endpoint": "token",
      "http.request.method": "POST",
      "http.response.status_code": 200,
      "server.address": "127.0.0.1",
      "server.port": Number(port),
      "url.full": `${provider.issuer}/token`,
    });
    const callback = recorder.spans.find(({ name }) => name === "authjs.callback")!;
    assertEquals([callback.kind, callback.status.code], [SpanKind.INTERNAL, SpanStatusCode.UNSET]);
    assertEquals(callback.attributes, {
      "authjs.action": "callback",
      "authjs.provider.id": "op",
      "authjs.provider.type": "oidc",
    });
    assertEquals(callback.instrumentationScope.name, "fastify-authjs");
  });
});

/** Sends as the instrumentation of `fetch` does: with a span of its own, and a header if it is sampled. */
function instrumentedFetch(recorder: Recorder): typeof fetch {
  return (input, init) => {
    const span = recorder.tracerProvider.getTracer("other").startSpan("other", {}, context.active());
    const headers = new Headers(init?.headers);
    if (isSpanContextValid(span.spanContext())) headers.set("traceparent", span.spanContext().traceId);
    span.end();
    return fetch(input, { ...init, headers });
  };
}

for (const providerSpans of [true, false]) {
  Deno.test(`a request to a provider has one span, and ${providerSpans ? "no traceparent" : "the other's traceparent"} with providerSpans: ${providerSpans}`, async () => {
    await recorded(async (recorder) => {
      await using provider = await ScriptedProvider.start();
      const settings = oidc(provider.issuer, { [customFetch]: instrumentedFetch(recorder) });
      await using app = await testApp(testConfig({ providers: [settings] }));
      await signInThrough(new Client(app), provider);
      const names = recorder.spans.map(({ name }) => name).filter((name) => !name.startsWith("authjs."));
      const own = ["GET discovery", "POST token", "GET jwks"];
      assertEquals(names, providerSpans ? own : ["other", "other", "other"]);
      for (const { headers } of provider.requests) assertEquals("traceparent" in headers, !providerSpans);
      const requests = (await recorder.points()).filter(({ name }) => name === "authjs.provider.request.duration");
      assertEquals(requests.map(({ attributes }) => attributes["authjs.provider.endpoint"]), [
        "discovery",
        "token",
        "jwks",
      ]);
    }, { providerSpans });
  });
}

Deno.test("what a user does wrong is no error of a span, what a provider or the database does is", async () => {
  await recorded(async (recorder) => {
    await using provider = await ScriptedProvider.start();
    const refuse = (status: number) => (_request: unknown, response: ServerResponse) =>
      void response.writeHead(status).end("{}");
    provider.script = { answer: { token: refuse(503) } };
    const adapter = memoryAdapter();
    adapter.getUserByAccount = () => {
      throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    };
    const config = testConfig({
      session: { strategy: "jwt" },
      adapter,
      providers: [oidc(provider.issuer), oidc(await closedAddress(), { id: "gone" }), passwordProvider()],
    });
    await using app = await testApp(config);
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "guess" });
    await startSignIn(client, "gone");
    await signInThrough(client, provider);
    provider.script = {};
    await signInThrough(client, provider);
    const failed = recorder.spans.filter(({ attributes }) => "error.type" in attributes);
    const { ERROR, UNSET } = SpanStatusCode;
    assertEquals(failed.map(({ name, attributes, status }) => [name, attributes["error.type"], status]), [
      ["authjs.callback", "CredentialsSignin", { code: UNSET }],
      ["GET discovery", "unreachable", { code: ERROR }],
      ["authjs.signin", "FST_AUTHJS_UNAVAILABLE", { code: ERROR }],
      ["POST token", "503", { code: ERROR }],
      ["authjs.callback", "FST_AUTHJS_UNAVAILABLE", { code: ERROR }],
      ["authjs.adapter.getUserByAccount", "unanswered", { code: ERROR }],
      ["authjs.callback", "FST_AUTHJS_UNAVAILABLE", { code: ERROR }],
    ]);
  });
});

Deno.test("an action that the signIn callback turned away with a page says so in its span and in the metric", async () => {
  await recorded(async (recorder) => {
    let page: string | true = true;
    const signIn = () => page;
    const mail = Nodemailer({ server: "smtp://127.0.0.1:1", sendVerificationRequest: () => {} });
    const config = testConfig({
      session: { strategy: "jwt" },
      adapter: memoryAdapter(),
      providers: [passwordProvider(), mail],
      callbacks: { signIn },
    });
    await using app = await testApp(config);
    await using keys = await testApp({ ...webAuthnConfig(emptyTables()), callbacks: { signIn } });
    const device = new SoftwareAuthenticator("https://app.example");
    const owner = new WebAuthnClient(keys);
    await owner.register(device, { email: "ada@example.com" });
    await owner.signOut();
    page = "/denied";
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    await startSignIn(client, "nodemailer", { email: "ada@example.com" });
    await owner.authenticate(device);
    page = true;
    await client.signIn({ username: "ada", password: "open" });

    const failed = recorder.spans.filter(({ attributes }) => "error.type" in attributes);
    assertEquals(
      failed.map(({ name, attributes, status }) => [name, attributes["authjs.provider.type"], status.code]),
      [
        ["authjs.callback", "credentials", SpanStatusCode.UNSET],
        ["authjs.signin", "email", SpanStatusCode.UNSET],
        ["authjs.callback", "webauthn", SpanStatusCode.UNSET],
      ],
    );
    assert(failed.every(({ attributes }) => attributes["error.type"] === "AccessDenied"));
    const counted = (await recorder.points()).filter(({ name, attributes }) =>
      name === "authjs.action.duration" && attributes["error.type"] === "AccessDenied"
    );
    assertEquals(counted.map(({ attributes }) => attributes["authjs.action"]).sort(), [
      "callback",
      "callback",
      "signin",
    ]);
  });
});

Deno.test("a read of a session is no span, and counts in a histogram", async () => {
  await recorded(async (recorder) => {
    let failing = false;
    const getSessionAndUser = () => failing ? Promise.reject(new Error("down")) : null;
    const adapter = { ...memoryAdapter(), getSessionAndUser } as ReturnType<typeof memoryAdapter>;
    await using tokens = await testApp(testConfig());
    await using rows = await testApp(testConfig({ adapter, providers: [oidc("http://127.0.0.1:9")] }));
    const client = new Client(tokens);
    await client.signIn({ username: "ada", password: "open" });
    recorder.reset();
    await client.get("/me");
    await new Client(tokens).get("/me");
    await new Client(rows, { cookie: "authjs.session-token=unknown" }).get("/me");
    failing = true;
    await new Client(rows, { cookie: "authjs.session-token=another" }).get("/me");
    assertEquals(recorder.spans.map(({ name }) => name), Array(2).fill("authjs.adapter.getSessionAndUser"));
    const reads = (await recorder.points()).filter(({ name }) => name === "authjs.session.read.duration");
    assertEquals(
      reads.map(({ attributes, count }) => [...Object.values(attributes), count].join(" ")).sort(),
      ["database none 1", "database unknown 1", "jwt none 1", "jwt session 1"],
    );
  });
});

Deno.test("a provider that does not answer in time is a timeout", () =>
  recorded(async (recorder) => {
    const hangs = () => new Promise<Response>(() => {});
    const providers = [oidc("https://op.example", { [customFetch]: hangs })];
    await using app = await testApp(testConfig({ providers, providerTimeout: 100 }));
    await startSignIn(new Client(app), "op");
    const [request] = recorder.spans.filter(({ kind }) => kind === SpanKind.CLIENT);
    assertEquals([request!.name, request!.attributes[ATTR_ERROR_TYPE]], ["GET discovery", "timeout"]);
  }));

Deno.test("what began before it was enabled is not recorded, and a port is that of the scheme if none is named", () =>
  recorded((recorder) => {
    const operation = (url: string) => ({ provider: "op", endpoint: "token", method: "POST", url, status: 200 });
    const { start, asyncEnd } = tracingChannel("fastify-authjs.provider-request");
    asyncEnd.publish(operation("https://early.example/token"));
    for (const url of ["https://op.example/token", "http://op.example/token"]) {
      const message = operation(url);
      start.publish(message);
      asyncEnd.publish(message);
    }
    assertEquals(recorder.spans.map(({ attributes }) => attributes[ATTR_SERVER_PORT]), [443, 80]);
    return Promise.resolve();
  }));

Deno.test("a disabled instrumentation records nothing, and an enabled one takes the global providers", async () => {
  const recorder = new Recorder();
  const instrumentation: Instrumentation = new FastifyAuthInstrumentation({ enabled: false });
  assertEquals(instrumentation.getConfig().enabled, false);
  await using app = await testApp();
  const visit = async () => {
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    await client.get("/me");
  };
  const unregister = registerInstrumentations({ instrumentations: [instrumentation] });
  try {
    // No SDK is registered yet.
    await visit();
    trace.setGlobalTracerProvider(recorder.tracerProvider);
    metrics.setGlobalMeterProvider(recorder.meterProvider);
    await visit();
    const spans = recorder.spans.length, points = (await recorder.points()).length;
    assertEquals([spans > 0, points > 0], [true, true]);
    instrumentation.enable();
    recorder.reset();
    await visit();
    assertEquals(recorder.spans.length, spans, "enabled twice, it subscribes once");
    instrumentation.disable();
    recorder.reset();
    await visit();
    assertEquals(recorder.spans, []);
  } finally {
    unregister();
    trace.disable();
    metrics.disable();
  }
});

Deno.test("the names are those of the semantic conventions", () => {
  const standard = [
    ATTR_ERROR_TYPE,
    ATTR_HTTP_REQUEST_METHOD,
    ATTR_HTTP_RESPONSE_STATUS_CODE,
    ATTR_SERVER_ADDRESS,
    ATTR_SERVER_PORT,
    ATTR_URL_FULL,
  ];
  const used = new Set(
    [...Object.values(SPANS), ...Object.values(METRICS).map(({ attributes }) => attributes)].flat(),
  );
  assertEquals([...used].filter((name) => !name.startsWith("authjs.")).sort(), standard.sort());
});

/** What is planted in requests and responses, and belongs into nothing that is exported. */
const PLANTED = {
  password: "a-planted-password",
  code: "a-planted-code",
  accessToken: "a-planted-access-token",
  refreshToken: "a-planted-refresh-token",
  clientSecret: "client-secret-planted",
  parameter: "a-planted-parameter",
  landing: "a-planted-page",
  message: "a-planted-message",
  address: "ada@example.com",
  encoded: "ada%40example.com",
};

/** What may be in the log, but not in telemetry: the application's own words. */
const IN_LOG_ONLY = [PLANTED.message];

/** What the flows leave behind. */
interface Observed {
  /** Every event of the audit trail, by channel and reason. */
  readonly events: Record<string, unknown>[];
  readonly lines: LogLine[];
  /** What came up in the flows and is secret. */
  readonly secrets: Set<string>;
}

class Locked extends CredentialsSignin {
  override code = "locked";
}

const form = Credentials({
  credentials: { username: {}, password: { type: "password" } },
  authorize(fields) {
    const { username, password } = fields as Record<string, string>;
    if (username === "locked") throw new Locked();
    if (username === "broken") throw new Error(PLANTED.message);
    return password === PLANTED.password ? { id: "ada", name: "Ada", email: PLANTED.address } : null;
  },
});

/** Signs in, out and up in each way, and fails in each way. */
async function flows({ events, lines, secrets }: Observed): Promise<void> {
  const { logger, lines: written } = captureLog();
  const landing = `/${PLANTED.landing}`;
  await using provider = await ScriptedProvider.start();
  const { accessToken: access_token, refreshToken: refresh_token, code } = PLANTED;
  const metadata = { userinfo_endpoint: `${provider.issuer}/userinfo?key=${PLANTED.parameter}` };
  provider.script = { metadata, tokens: { access_token, refresh_token, expires_in: 20 } };
  const links: string[] = [];
  const mail = Nodemailer({
    server: "smtp://127.0.0.1:1",
    sendVerificationRequest: ({ url }) => void links.push(url),
  });
  const tables = emptyTables();
  const rows = memoryAdapter(tables);
  const adapter = withAccountList({
    ...rows,
    unlinkAccount: () => void tables.accounts.splice(0, 1),
    getUserByEmail(email: string) {
      if (email.startsWith("down")) throw new Error(`cannot connect to the row of ${email}`);
      return rows.getUserByEmail(email);
    },
  } as never, (userId) => Promise.resolve(tables.accounts.filter((each) => each.userId === userId) as never));
  const auth = createAuth(testConfig({
    adapter,
    session: { strategy: "jwt" },
    providers: [
      oidc(provider.issuer, { idToken: false }),
      oidc(await closedAddress(), { id: "gone" }),
      form,
      mail,
    ],
    refreshTokens: true,
    bearer: true,
    stepUp: true,
    rateLimit: { accountFromAddress: { max: 4, timeWindow: 60_000 }, account: false },
  }) as never);
  await using app = Fastify({ logger }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "");
  app.get("/staff", { onRequest: auth.requireSession({ authorize: () => false }) }, () => "");
  app.get("/fresh/:id", { onRequest: auth.requireSession({ acr: "gold" }) }, () => "");
  app.get("/access-token", async (request) => ({ token: await auth.getAccessToken(request, "op") }));
  app.get("/accounts", (request) => auth.listAccounts(request));
  app.post("/unlink", async (request) => {
    const [account] = await auth.listAccounts(request);
    await auth.unlinkAccount(request, account!, { otherSignInMethod: true });
    return {};
  });
  const browser = () => new Client(app, { "user-agent": "Test/1.0" });
  const keep = (client: Client) => {
    for (const [name, value] of client.cookies) {
      // It names a provider.
      if (!name.endsWith("last-used")) secrets.add(value).add(decodeURIComponent(value).split("|")[0]!);
    }
  };

  // OpenID Connect: signs up, gets an access token, unlinks, fails.
  const ada = browser();
  const started = await startSignIn(ada, "op", { callbackUrl: landing });
  for (const name of ["state", "nonce", "code_challenge"]) {
    secrets.add(new URL(locationOf(started)).searchParams.get(name)!);
  }
  await signInThrough(ada, provider, { code });
  secrets.add(provider.idToken().split(".")[2]!);
  keep(ada);
  await ada.get("/access-token");
  await ada.get("/auth/session");
  await ada.request("POST", "/auth/session", {
    json: { csrfToken: await ada.csrfToken(), data: { a: PLANTED.address } },
  });
  await ada.get("/staff");
  await ada.get("/fresh/1");
  const token = (await ada.request("POST", "/auth/token", { json: { csrfToken: await ada.csrfToken() } }))
    .json();
  secrets.add(token.access_token);
  await app.inject({ url: "/guarded", headers: { authorization: `Bearer ${token.access_token}` } });
  await app.inject({ url: "/guarded", headers: { authorization: `Bearer ${token.access_token}x` } });
  await ada.request("POST", "/unlink");
  keep(ada);
  await ada.signOut();
  provider.script = { answer: { token: (_request, response) => void response.writeHead(400).end("{}") } };
  await signInThrough(browser(), provider, { code });
  await signInThrough(browser(), provider, {
    code: "",
    error: "access_denied",
    error_description: PLANTED.address,
  });
  await startSignIn(browser(), "gone");
  await browser().get(`/auth/callback/op?code=${code}&state=a-planted-state`);
  secrets.add("a-planted-state");

  // Passwords.
  const grace = browser();
  await grace.get(`/auth/signin?callbackUrl=${landing}`);
  await grace.get("/auth/providers");
  const fields = { username: PLANTED.address, password: PLANTED.password };
  await grace.signIn(fields);
  await grace.signIn(fields);
  keep(grace);
  await grace.get("/auth/signout");
  await grace.post("/auth/callback/credentials", fields);
  await grace.post("/auth/callback/credentials", fields, { origin: "https://evil.example" });
  await grace.signIn({ ...fields, username: "locked" });
  await grace.signIn({ ...fields, username: "broken" });
  for (let attempt = 0; attempt < 5; attempt++) {
    await grace.signIn({ ...fields, password: `${PLANTED.password}?` });
  }

  // Mailed links.
  const mailed = browser();
  for (const email of [PLANTED.address, "down@example.com"]) {
    const answer = await startSignIn(mailed, "nodemailer", { email, callbackUrl: landing });
    await mailed.get(new URL(locationOf(answer), "http://localhost").pathname);
  }
  secrets.add("down@example").add("down%40example");
  const { pathname, search, searchParams } = new URL(links[0]!);
  secrets.add(searchParams.get("token")!);
  await mailed.confirm(pathname + search);
  keep(mailed);
  await mailed.confirm(pathname + search);
  await mailed.get("/auth/error?error=Verification");

  await passkeys(secrets, written);
  lines.push(...written);
  assert(events.length > 0);
}

/** Where nothing listens. */
async function closedAddress(): Promise<string> {
  await using provider = await ScriptedProvider.start();
  return provider.issuer;
}

async function passkeys(secrets: Set<string>, lines: LogLine[]): Promise<void> {
  const log = captureLog();
  await using app = await testApp(webAuthnConfig(emptyTables()), { logger: log.logger });
  const device = new SoftwareAuthenticator("https://app.example");
  const client = new WebAuthnClient(app);
  await client.register(device, { email: PLANTED.address });
  for (const value of client.cookies.values()) secrets.add(value);
  await client.signOut();
  await client.authenticate(device);
  await client.user();
  await client.signOut();
  await client.send("authenticate", device.get((await client.options()).options, { challenge: "AAAA" }));
  lines.push(...log.lines);
}

/** Runs the flows with an SDK, `@fastify/otel` and a subscriber on each channel of the audit trail. */
async function observedFlows(
  check: (observed: Observed, recorder: Recorder) => Promise<void>,
): Promise<void> {
  const observed: Observed = { events: [], lines: [], secrets: new Set() };
  const listeners = EVENTS.map((name) => {
    const listener = (event: unknown) => void observed.events.push({ event: name, ...event as object });
    return [`fastify-authjs:${name}`, listener] as const;
  });
  for (const [name, listener] of listeners) subscribe(name, listener);
  const server = new FastifyOtelInstrumentation({ registerOnInitialization: true });
  try {
    await recorded(async (recorder) => {
      server.setTracerProvider(recorder.tracerProvider);
      await flows(observed);
      await check(observed, recorder);
    });
  } finally {
    server.disable();
    for (const [name, listener] of listeners) unsubscribe(name, listener);
  }
}

Deno.test("each kind of event, span and metric is in the flows, and none has a code, a token or an address", async () => {
  await observedFlows(async ({ events, lines, secrets }, recorder) => {
    // The audit trail: each kind, and each way to fail.
    const kinds = new Set(
      events.map(({ event, reason, provider }) => [event, reason, provider].filter(Boolean).join(" ")),
    );
    for (
      const kind of [
        "access-refused FST_AUTHJS_FORBIDDEN",
        "access-refused FST_AUTHJS_STEP_UP_REQUIRED",
        "access-refused FST_AUTHJS_UNAUTHENTICATED",
        "link op",
        "link passkey",
        "revoke replaced credentials",
        "sign-in credentials",
        "sign-in nodemailer",
        "sign-in op",
        "sign-in passkey",
        "sign-in-failure CallbackRouteError credentials",
        "sign-in-failure CallbackRouteError op",
        "sign-in-failure CredentialsSignin credentials",
        "sign-in-failure FST_AUTHJS_CROSS_SITE credentials",
        "sign-in-failure FST_AUTHJS_TOO_MANY_REQUESTS credentials",
        "sign-in-failure FST_AUTHJS_UNAVAILABLE gone",
        "sign-in-failure FST_AUTHJS_UNAVAILABLE nodemailer",
        "sign-in-failure InvalidCheck op",
        "sign-in-failure MissingCSRF credentials",
        "sign-in-failure OAuthCallbackError op",
        "sign-in-failure Verification nodemailer",
        "sign-in-failure WebAuthnVerificationError passkey",
        "sign-out",
        "unlink op",
      ]
    ) assert(kinds.has(kind), `${kind} is not in:\n${[...kinds].sort().join("\n")}`);
    assertEquals([...new Set(events.map(({ event }) => event))].sort(), [...EVENTS]);

    // The names.
    const own = recorder.spans.filter(({ instrumentationScope }) => instrumentationScope.name === "fastify-authjs");
    const used = new Map<string, Set<string>>();
    for (const { name, attributes } of own) {
      const kind = name.replace(
        /^authjs\.(adapter\.\w+|[\w-]+)$/,
        (_, rest) => rest.startsWith("adapter.") ? "authjs.adapter.<method>" : "authjs.<action>",
      ).replace(
        /^(GET|POST)\b.*/,
        "<method> <endpoint>",
      );
      for (const attribute of Object.keys(attributes)) {
        used.set(kind, (used.get(kind) ?? new Set()).add(attribute));
      }
    }
    assertEquals(Object.fromEntries([...used].map(([name, of]) => [name, [...of].sort()])), { ...SPANS });
    const valuesOf = (attribute: string) =>
      [...new Set(own.map(({ attributes }) => attributes[attribute]))].filter(Boolean).sort();
    assertEquals(valuesOf("authjs.action"), [...ACTIONS]);
    assertEquals(valuesOf("authjs.provider.endpoint"), [...ENDPOINTS]);
    const metrics: Record<string, { unit: string; attributes: string[] }> = {};
    for (const { name, unit, attributes } of await recorder.points()) {
      const known = metrics[name] ??= { unit, attributes: [] };
      known.attributes = [...new Set([...known.attributes, ...Object.keys(attributes)])].sort();
    }
    assertEquals(metrics, { ...METRICS } as typeof metrics);
    const counted = (await recorder.points()).filter(({ name }) => name === "authjs.events");
    assertEquals([...new Set(counted.map(({ attributes }) => attributes["authjs.event"]))].sort(), [
      ...EVENTS,
    ]);
    assertEquals(counted.reduce((sum, { count }) => sum + count, 0), events.length);

    // No secrets, whoever made the span.
    const scopes = new Set(recorder.spans.map(({ instrumentationScope }) => instrumentationScope.name));
    assert(scopes.has("@fastify/otel"), [...scopes].join());
    const exported = await recorder.text();
    const published = JSON.stringify(events);
    const logged = JSON.stringify(lines);
    for (const secret of [...Object.values(PLANTED), ...secrets].filter((text) => text.length > 3)) {
      assertFalse(exported.includes(secret), `${secret} is exported: ${around(exported, secret)}`);
      assertFalse(published.includes(secret), `${secret} is published: ${around(published, secret)}`);
      if (IN_LOG_ONLY.includes(secret)) continue;
      assertFalse(logged.includes(secret), `${secret} is logged: ${around(logged, secret)}`);
    }
    const users = new Set(
      events.map(({ userId }) => userId).filter((id) => id !== undefined && id !== "ada"),
    );
    for (const id of users) assertFalse(exported.includes(String(id)), `the user ${id} is exported`);
  });
});

function around(text: string, part: string): string {
  const at = text.indexOf(part);
  return text.slice(Math.max(0, at - 300), at + part.length + 100);
}
