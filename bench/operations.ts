/** Measures what is asked of the auth routes against a plain port of core: CPU of the server for a request. */
import { type Loaded, loadInTurns, type Round } from "./rounds.ts";
import { Generator, type LoadRequest, Server } from "./servers.ts";
import type { Runtime } from "./setup.ts";

/** A browser, and what it got from a server. */
interface Visitor {
  readonly url: string;
  readonly token: string;
  readonly cookie: string;
  readonly session: string;
}

/** The configurations that operations need, each in a process of its own. */
const CONFIGURATIONS = ["plain", "database"] as const;

interface Operation {
  /** @default "plain" */
  readonly config?: typeof CONFIGURATIONS[number];
  /** @default 200 */
  readonly status?: number;
  /** Requests that are sent in turn. */
  readonly requests: (visitor: Visitor) => LoadRequest[] | Promise<LoadRequest[]>;
  /** Whether each request has the session of another user. */
  readonly manyUsers?: boolean;
  readonly isRight: (response: Response) => boolean | Promise<boolean>;
}

const NAVIGATION = {
  "user-agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0",
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
  "accept-language": "en-US,en;q=0.9",
  "sec-fetch-site": "same-origin",
  "sec-fetch-mode": "navigate",
};
const FETCH = { ...NAVIGATION, accept: "*/*", "sec-fetch-mode": "cors" };

const get = (path: string, cookie = "", headers: Record<string, string> = NAVIGATION): LoadRequest => ({
  method: "GET",
  path,
  headers: { ...headers, ...(cookie && { cookie }) },
});

/** A form of a page, with its CSRF token. */
const form = (
  path: string,
  { url, token, cookie }: Visitor,
  fields: Record<string, string> = {},
): LoadRequest => ({
  method: "POST",
  path,
  headers: { ...NAVIGATION, origin: url, cookie, "content-type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams({ csrfToken: token, ...fields }).toString(),
});

const passwordForm = (visitor: Visitor): LoadRequest =>
  form("/auth/callback/credentials", visitor, { username: "ada", password: "correct horse" });

const leadsTo = (part: string) => ({ headers }: Response) => headers.get("location")?.includes(part) ?? false;
const setsSession = ({ headers }: Response) =>
  headers.getSetCookie().some((line) => /^authjs\.session-token=[^;]/.test(line));

/** How many requests differ if each may come once. */
const LINKS = 4096;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "`GET csrf`": {
    requests: () => [get("/auth/csrf", "", FETCH)],
    isRight: async (response) => typeof (await response.json()).csrfToken === "string",
  },
  "`GET session`": {
    requests: ({ session }) => [get("/auth/session", session, FETCH)],
    isRight: async (response) => (await response.json())?.user.name === "Ada Lovelace",
  },
  "`POST session` (update)": {
    requests: ({ url, token, cookie, session }) => [{
      method: "POST",
      path: "/auth/session",
      headers: {
        ...FETCH,
        origin: url,
        cookie: `${cookie}; ${session}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ csrfToken: token, data: { theme: "dark" } }),
    }],
    isRight: setsSession,
  },
  "`GET providers`": {
    requests: () => [get("/auth/providers", "", FETCH)],
    isRight: async (response) => (await response.json()).oauth.signinUrl.endsWith("/auth/signin/oauth"),
  },
  "sign-in page": {
    requests: () => [get("/auth/signin")],
    isRight: async (response) => (await response.text()).includes("/auth/signin/oauth"),
  },
  "sign-out page": {
    requests: ({ session }) => [get("/auth/signout", session)],
    isRight: async (response) => (await response.text()).includes("csrfToken"),
  },
  "sign-out": {
    status: 302,
    manyUsers: true,
    requests: (visitor) => [form("/auth/signout", visitor)],
    isRight: ({ headers }) => headers.get("location") !== null,
  },
  "sign-in with a password": {
    status: 302,
    requests: (visitor) => [passwordForm(visitor)],
    isRight: setsSession,
  },
  "a wrong password": {
    status: 302,
    requests: (
      visitor,
    ) => [form("/auth/callback/credentials", visitor, { username: "ada", password: "wrong" })],
    isRight: leadsTo("error=CredentialsSignin"),
  },
  "sign-in at a provider: start": {
    status: 302,
    requests: (visitor) => [form("/auth/signin/oauth", visitor)],
    isRight: leadsTo("https://provider.example/authorize?"),
  },
  "sign-in at a provider: callback": {
    status: 302,
    requests: async (visitor) => {
      const { headers } = await send(visitor.url, form("/auth/signin/oauth", visitor));
      return [get("/auth/callback/oauth?code=code", `${visitor.cookie}; ${cookiesOf(headers)}`)];
    },
    isRight: setsSession,
  },
  "sign-in by mail: send": {
    config: "database",
    status: 302,
    requests: (visitor) => [form("/auth/signin/email", visitor, { email: "ada@example.com" })],
    isRight: leadsTo("/auth/verify-request"),
  },
  "sign-in by mail: the link": {
    config: "database",
    status: 302,
    requests: ({ cookie }) =>
      Array.from(
        { length: LINKS },
        (_, link) => get(`/auth/callback/email?token=${link}&email=ada${link}%40example.com`, cookie),
      ),
    isRight: setsSession,
  },
  "options of a passkey": {
    config: "database",
    requests: ({ cookie }) => [get("/auth/webauthn-options/passkey?action=authenticate", cookie, FETCH)],
    isRight: async (response) => (await response.json()).action === "authenticate",
  },
};

export const OPERATION_NAMES: readonly string[] = Object.keys(OPERATIONS);

/** How many browsers ask at a time. */
const CONNECTIONS = 8;

/** Measures every operation on one runtime. The names in a round are `own` and `port` with that of the operation. */
export async function measureOperations(runtime: Runtime, node: Runtime, seconds: number): Promise<Round[]> {
  const generator = new Generator(node);
  const servers: Server[] = [];
  try {
    const loaded: Loaded[] = [];
    const checks: (() => Promise<void>)[] = [];
    for (const config of CONFIGURATIONS) {
      const pair: (readonly [who: string, server: Server])[] = [];
      for (const who of ["own", "port"]) {
        pair.push([who, await Server.start(runtime, "operations", `${who}-${config}`)]);
      }
      servers.push(...pair.map(([, server]) => server));
      for (const [name, operation] of Object.entries(OPERATIONS)) {
        if ((operation.config ?? "plain") !== config) continue;
        // One right after the other: the machine does not work at the same speed for long.
        for (const [who, server] of pair) {
          const visitor = await visit(server);
          const { status = 200, manyUsers = false } = operation;
          const requests = await operation.requests(visitor);
          checks.push(() => assertRight(`${name} of ${who}`, visitor, requests[0]!, operation));
          const asked = { requests, manyUsers, status, connections: CONNECTIONS };
          loaded.push({ name: `${who} ${name}`, server, asked });
        }
      }
    }
    for (const check of checks) await check();
    const rounds = await loadInTurns(generator, loaded, seconds);
    // One operation may have changed what the next one is answered: a sign-out, say.
    for (const check of checks) await check();
    return rounds;
  } finally {
    for (const server of servers) server.end();
    generator.end();
  }
}

/** A browser that comes for the first time, and gets its CSRF token. */
async function visit({ url, cookies }: Server): Promise<Visitor> {
  const response = await send(url, get("/auth/csrf", "", FETCH));
  const { csrfToken } = await response.json();
  return { url, token: csrfToken, cookie: cookiesOf(response.headers), session: cookies.cookie! };
}

/** The cookies of a session of its own, which may be ended: other operations go on with the visitor's. */
async function signIn(visitor: Visitor): Promise<string> {
  return cookiesOf((await send(visitor.url, passwordForm(visitor))).headers);
}

function send(url: string, { path, ...init }: LoadRequest): Promise<Response> {
  return fetch(`${url}${path}`, { ...init, redirect: "manual", signal: AbortSignal.timeout(30_000) });
}

const cookiesOf = (headers: Headers) => headers.getSetCookie().map((line) => line.split(";")[0]!).join("; ");

/** A wrong answer is often a fast one. */
async function assertRight(
  what: string,
  visitor: Visitor,
  request: LoadRequest,
  { status = 200, manyUsers, isRight }: Operation,
): Promise<void> {
  const session = manyUsers ? await signIn(visitor) : undefined;
  const cookie = [request.headers?.cookie, session].filter(Boolean).join("; ");
  const response = await send(visitor.url, { ...request, headers: { ...request.headers, cookie } });
  const copy = response.clone();
  if (response.status === status && await isRight(response)) return;
  throw new Error(
    `${what} answered ${copy.status}, ${copy.headers.get("location")}: ${await copy.text()}`,
  );
}
