/**
 * The application that the soak test runs in two processes, on the npm package. It keeps sessions both ways: in cookies,
 * with the store and limits in Redis (`/auth`), and in PostgreSQL (`/staff/auth`).
 *
 * Standard input takes commands as lines of JSON, and standard output answers each with one. `SIGTERM` closes it.
 */
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import PostgresAdapter from "@auth/pg-adapter";
import Fastify from "fastify";
import { createAuth } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { redisStore } from "fastify-authjs/redis";
import { Redis } from "ioredis";
import pg from "pg";

const { DATABASE_URL, REDIS_URL, ISSUER, MAILBOX } = process.env;

/** What went wrong, and what was logged, since the process started. */
const seen = {
  unhandledRejections: 0,
  uncaughtExceptions: 0,
  processWarnings: 0,
  logged: {},
  loggedTokens: 0,
};
const report = (kind) => (error) => {
  seen[kind]++;
  console.error(kind, error);
};
process.on("unhandledRejection", report("unhandledRejections"));
process.on("uncaughtException", report("uncaughtExceptions"));
process.on("warning", report("processWarnings"));

/** Counts the lines of the log by what they say. */
const log = {
  write(text) {
    const { level, msg, code, err } = JSON.parse(text);
    // Numbers and names of a request would make each line another one
    const key = [level >= 50 ? "error" : "warn", code ?? err?.code, msg.slice(0, 160)].filter(Boolean).join(
      " ",
    );
    seen.logged[key] = (seen.logged[key] ?? 0) + 1;
    if (/eyJ[\w-]{16,}/.test(text)) seen.loggedTokens++;
  },
};

const redis = new Redis(REDIS_URL);
redis.on("error", () => {}); // said by what needed it
const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  connectionTimeoutMillis: 5_000,
  idleTimeoutMillis: 2_000,
});
pool.on("error", () => {});

const issuer = {
  id: "issuer",
  name: "Issuer",
  type: "oidc",
  issuer: ISSUER,
  clientId: "soak",
  clientSecret: "secret",
  authorization: { params: { scope: "openid profile email offline_access" } },
};
const shared = { providerTimeout: 5_000, adapterTimeout: 5_000, insecureProviders: ["issuer"] };
const auth = createAuth({
  ...shared,
  providers: [
    issuer,
    Credentials({
      credentials: { username: {}, password: { type: "password" } },
      authorize: ({ username, password }) =>
        password === "open" ? { id: username, name: username, email: `${username}@users.test` } : null,
    }),
  ],
  callbacks: {
    jwt({ token, user, trigger, session }) {
      if (user) token.role = "user";
      if (trigger === "update") token.edition = session.edition;
      return token;
    },
    session: ({ session: { user, expires }, token }) => ({
      user: { id: token.sub, name: user.name, email: user.email, role: token.role, edition: token.edition },
      expires,
    }),
  },
  refreshTokens: true,
  store: redisStore(redis),
  revocable: true,
  // Each user of the test has an address. The default for one is 60 in a minute
  rateLimit: { redis, address: { max: 1_000_000, timeWindow: 60_000 } },
});
const staff = createAuth({
  ...shared,
  adapter: PostgresAdapter(pool),
  providers: [issuer, {
    id: "mail",
    name: "Mail",
    type: "email",
    from: "soak@app.test",
    maxAge: 24 * 60 * 60,
    async sendVerificationRequest({ identifier, url }) {
      const response = await fetch(MAILBOX, { method: "POST", body: JSON.stringify({ identifier, url }) });
      if (!response.ok) throw new Error(`The mailbox answered ${response.status}.`);
    },
  }],
  cookies: { sessionToken: { name: "staff.session-token" } },
  rateLimit: false,
});

const app = Fastify({ trustProxy: true, logger: { level: "warn", stream: log } });
await app.register(auth.plugin, { prefix: "/auth" });
await app.register(staff.plugin, { prefix: "/staff/auth" });
for (const [prefix, { getSession, requireSession }] of [["", auth], ["/staff", staff]]) {
  app.get(`${prefix}/me`, async (request) => ({ session: await getSession(request) }));
  app.get(
    `${prefix}/guarded`,
    { onRequest: requireSession() },
    async (request) => ({ session: await getSession(request) }),
  );
}
app.get("/access", { onRequest: auth.requireSession() }, async (request) => ({
  token: await auth.getAccessToken(request, "issuer"),
}));
app.addHook("onClose", async () => {
  redis.disconnect();
  await pool.end();
});

/** Moves the clock of this process. */
const RealDate = Date;
let offset = 0;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + offset] : args));
  }
  static now = () => RealDate.now() + offset;
  static [Symbol.hasInstance] = (value) => value instanceof RealDate;
};

const commands = {
  clock({ milliseconds }) {
    offset = milliseconds;
    return {};
  },
  gauge() {
    globalThis.gc();
    globalThis.gc();
    const { heapUsed, rss, external } = process.memoryUsage();
    const descriptors = process.platform === "linux" ? readdirSync("/proc/self/fd").length : undefined;
    return { heapUsed, rss, external, descriptors, ...seen };
  },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { command, ...parameters } = JSON.parse(line);
  console.log(JSON.stringify(commands[command](parameters)));
}).on("close", () => process.exit()); // it does not outlive the test

process.once("SIGTERM", async () => {
  // Connections whose last request was answered meanwhile: clients would keep them open for 72 seconds
  setInterval(() => app.server.closeIdleConnections(), 100).unref();
  await app.close();
  console.log(JSON.stringify({ closed: true, ...seen }));
  process.exit();
});
const address = new URL(await app.listen({ port: Number(process.env.PORT ?? 0), host: "127.0.0.1" }));
console.log(JSON.stringify({ port: Number(address.port) }));
