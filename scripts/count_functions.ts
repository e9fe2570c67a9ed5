/**
 * Counts the functions of this package that one warm request runs, by V8's precise coverage: how many places a reader
 * passes who follows that request. Ends with an error if a request runs more of them than its limit.
 *
 * @module
 */
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from "fastify";
import { Session } from "node:inspector/promises";
import process from "node:process";
import { createAuth } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";

/** The most functions that each request may run; lower them when less is needed. */
const LIMITS = {
  "GET /me with `jwt` and `session` callbacks": 55,
  "a route with a role guard": 65,
  "GET csrf and POST callback/credentials": 96,
  'auth.signIn("credentials")': 92,
};

type Operation = keyof typeof LIMITS;

/** Requests before the one that counts: what is loaded or derived once is there then. */
const WARM = 3;

const sources = new URL("../src/", import.meta.url).href;

const auth = createAuth({
  secret: "a-secret-for-counting-functions-of-32-characters",
  trustHost: true,
  providers: [Credentials({ authorize: () => ({ id: "1", name: "Ada", roles: ["admin"] }) })],
  callbacks: {
    jwt: ({ token, user }) => user ? { ...token, id: user.id, roles: ["admin"] } : token,
    session: ({ session, token }) => {
      Object.assign(session.user!, { id: token.id, roles: token.roles });
      return session;
    },
  },
});

const app = Fastify() as FastifyInstance;
await app.register(auth.plugin, { prefix: "/auth" });
app.get("/me", (request) => auth.getSession(request));
app.get("/admin", { config: { auth: { roles: ["admin"] } } }, () => ({}));
app.post(
  "/login",
  (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body as Record<string, string> }),
);
await app.ready();

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The functions of this package that ran since the last call. */
async function takeFunctions(): Promise<number> {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => url.startsWith(sources))
    .flatMap(({ functions }) => functions.filter(({ ranges: [range] }) => range!.count > 0))
    .length;
}

const cookies = new Map<string, string>();

async function send(method: "GET" | "POST", url: string, fields?: Record<string, string>): Promise<string> {
  const response: LightMyRequestResponse = await app.inject({
    method,
    url,
    headers: {
      cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
      ...(fields &&
        { "content-type": url === "/login" ? "application/json" : "application/x-www-form-urlencoded" }),
    },
    ...(fields && { payload: url === "/login" ? fields : new URLSearchParams(fields).toString() }),
  });
  if (response.statusCode >= 400) throw new Error(`${method} ${url} answered ${response.statusCode}`);
  for (const line of [response.headers["set-cookie"] ?? []].flat()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
    cookies.set(name!, value!);
  }
  return response.body;
}

const OPERATIONS: Record<Operation, () => Promise<unknown>> = {
  "GET csrf and POST callback/credentials": async () => {
    cookies.clear();
    const { csrfToken } = JSON.parse(await send("GET", "/auth/csrf"));
    await send("POST", "/auth/callback/credentials", { csrfToken, username: "ada" });
  },
  "GET /me with `jwt` and `session` callbacks": () => send("GET", "/me"),
  "a route with a role guard": () => send("GET", "/admin"),
  'auth.signIn("credentials")': async () => {
    cookies.clear();
    await send("POST", "/login", { username: "ada" });
  },
};

let exceeded = false;
for (const [name, operate] of Object.entries(OPERATIONS) as [Operation, () => Promise<unknown>][]) {
  for (let done = 0; done < WARM; done++) await operate();
  await takeFunctions();
  await operate();
  const count = await takeFunctions();
  const limit = LIMITS[name];
  if (count > limit) exceeded = true;
  console.log(`${String(count).padStart(4)} of at most ${limit}${count > limit ? " EXCEEDED" : ""}: ${name}`);
}
await app.close();
inspector.disconnect();
process.exitCode = exceeded ? 1 : 0;
