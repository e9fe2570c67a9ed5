/**
 * The measurements of everything that is asked of the auth routes, against a plain port of core: CPU of the server for
 * a request.
 *
 * @module
 */
import { type Asked, Generator, type Load, type LoadRequest, Server } from "./conversation.ts";
import { type Effort, type Extent, repeat, warmUp } from "./effort.ts";
import { quiet } from "./measured/quiet.js";
import type { Runtime } from "./setup.ts";
import { median } from "./statistics.ts";

/** Microseconds of CPU for a request, by operation and contestant. */
export type OperationResult = Record<string, Record<OperationsContestant, number>>;

/** As many as this package has. */
export const MORE = 82;

/** The contestants, with the application and the number of providers beside those that are used. */
export const CONTESTANTS = {
  own: ["operations", 0],
  ownWithMore: ["operations", MORE],
  port: ["port-operations", 0],
} as const satisfies Record<string, [app: string, more: number]>;

export type OperationsContestant = keyof typeof CONTESTANTS;

/** A browser, and what it got from a server. */
interface Visitor {
  readonly url: string;
  /** Its CSRF token. */
  readonly token: string;
  /** Its cookies, without a session. */
  readonly cookie: string;
  /** The session cookie of a user. */
  readonly session: string;
}

/** The configurations that operations need, each in a process of its own. */
export const CONFIGURATIONS = ["plain", "database"] as const;

type Configuration = typeof CONFIGURATIONS[number];

interface Operation {
  /** The configuration that it needs. */
  readonly config: Configuration;
  readonly status: number;
  /** Requests that are sent in turn. */
  readonly requests: (visitor: Visitor) => LoadRequest[] | Promise<LoadRequest[]>;
  /** Whether each request has the session of another user. */
  readonly manyUsers?: boolean;
  /** Whether an answer is right. */
  readonly isRight: (response: Response) => boolean | Promise<boolean>;
}

/** What a server is asked. */
export interface Prepared {
  readonly asked: Asked;
  /** Throws if the answer is not the right one. */
  readonly assertRight: () => Promise<void>;
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

/** How many requests differ where each may come once. */
const LINKS = 4096;

/** Every operation, by its name in the report. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  "`GET csrf`": {
    config: "plain",
    status: 200,
    requests: () => [get("/auth/csrf", "", FETCH)],
    isRight: async (response) => typeof (await response.json()).csrfToken === "string",
  },
  "`GET session`": {
    config: "plain",
    status: 200,
    requests: ({ session }) => [get("/auth/session", session, FETCH)],
    isRight: async (response) => (await response.json())?.user.name === "Ada Lovelace",
  },
  "`POST session` (update)": {
    config: "plain",
    status: 200,
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
    config: "plain",
    status: 200,
    requests: () => [get("/auth/providers", "", FETCH)],
    isRight: async (response) => (await response.json()).oauth.signinUrl.endsWith("/auth/signin/oauth"),
  },
  "sign-in page": {
    config: "plain",
    status: 200,
    requests: () => [get("/auth/signin")],
    isRight: async (response) => (await response.text()).includes("/auth/signin/oauth"),
  },
  "sign-out page": {
    config: "plain",
    status: 200,
    requests: ({ session }) => [get("/auth/signout", session)],
    isRight: async (response) => (await response.text()).includes("csrfToken"),
  },
  "sign-out": {
    config: "plain",
    status: 302,
    manyUsers: true,
    requests: (visitor) => [form("/auth/signout", visitor)],
    isRight: ({ headers }) => headers.get("location") !== null,
  },
  "sign-in with a password": {
    config: "plain",
    status: 302,
    requests: (visitor) => [passwordForm(visitor)],
    isRight: setsSession,
  },
  "a wrong password": {
    config: "plain",
    status: 302,
    requests: (
      visitor,
    ) => [form("/auth/callback/credentials", visitor, { username: "ada", password: "wrong" })],
    isRight: leadsTo("error=CredentialsSignin"),
  },
  "sign-in at a provider: start": {
    config: "plain",
    status: 302,
    requests: (visitor) => [form("/auth/signin/oauth", visitor)],
    isRight: leadsTo("https://provider.example/authorize?"),
  },
  "sign-in at a provider: callback": {
    config: "plain",
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
        (_, link) => get(`/auth/callback/email?token=${link}&email=ada%40example.com`, cookie),
      ),
    isRight: setsSession,
  },
  "options of a passkey": {
    config: "database",
    status: 200,
    requests: ({ cookie }) => [get("/auth/webauthn-options/passkey?action=authenticate", cookie, FETCH)],
    isRight: async (response) => (await response.json()).action === "authenticate",
  },
};

/** How many browsers ask at a time. */
export const CONNECTIONS = 8;

/** Measures every operation on one runtime. */
export async function measureOperations(
  runtime: Runtime,
  node: Runtime,
  effort: Effort,
): Promise<OperationResult> {
  const generator = new Generator(node);
  const servers: { contestant: OperationsContestant; config: Configuration; server: Server }[] = [];
  try {
    for (const [contestant, [app, more]] of Object.entries(CONTESTANTS)) {
      for (const config of CONFIGURATIONS) {
        const server = await Server.start(runtime, app, `${config}-${more}`);
        servers.push({ contestant: contestant as OperationsContestant, config, server });
      }
    }
    const loads: {
      operation: string;
      contestant: OperationsContestant;
      assertRight: () => Promise<void>;
      run: (extent: Extent) => Promise<Load>;
    }[] = [];
    for (const operation of Object.keys(OPERATIONS)) {
      for (const { contestant, config, server } of servers) {
        if (OPERATIONS[operation]!.config !== config) continue;
        const { asked, assertRight } = await prepare(operation, contestant, server);
        loads.push({
          operation,
          contestant,
          assertRight,
          run: (extent) => generator.load(server, { ...asked, connections: CONNECTIONS, ...extent }),
        });
      }
    }
    const measured = new Map(loads.map((load) => [load, [] as number[]]));
    await repeat(effort, {
      async warmUp() {
        for (const { run } of loads) await warmUp(effort, async (extent) => (await run(extent)).requests);
      },
      async round() {
        await quiet();
        for (const load of loads) measured.get(load)!.push((await load.run({ seconds: effort.load })).cpu);
      },
    });
    // One operation may have changed what the next one is answered: a sign-out, say.
    for (const { assertRight } of loads) await assertRight();
    const result: Record<string, Record<string, number>> = {};
    for (const [{ operation, contestant }, values] of measured) {
      (result[operation] ??= {})[contestant] = median(values);
    }
    return result as OperationResult;
  } finally {
    generator.end();
    for (const { server } of servers) server.end();
  }
}

/** The operations that a server with a configuration is asked for. */
export const operationsWith = (config: Configuration): string[] =>
  Object.keys(OPERATIONS).filter((operation) => OPERATIONS[operation]!.config === config);

/** What a server is asked for an operation, which it has answered rightly once. */
export async function prepare(
  operation: string,
  contestant: OperationsContestant,
  server: Server,
): Promise<Prepared> {
  const { status, manyUsers = false, requests, isRight } = OPERATIONS[operation]!;
  const visitor = await visit(server);
  const prepared = await requests(visitor);
  const assertAnswer = async () => {
    const cookie = [prepared[0]!.headers?.cookie, manyUsers && await signIn(visitor)].filter(Boolean).join(
      "; ",
    );
    const request = { ...prepared[0]!, headers: { ...prepared[0]!.headers, cookie } };
    await assertRight(`${operation} of ${contestant}`, server, request, status, isRight);
  };
  await assertAnswer();
  return { asked: { requests: prepared, manyUsers, status }, assertRight: assertAnswer };
}

/** A browser that comes for the first time, and gets its CSRF token. */
async function visit({ url, cookies }: Server): Promise<Visitor> {
  const response = await send(url, get("/auth/csrf", "", FETCH));
  const { csrfToken } = await response.json();
  return { url, token: csrfToken, cookie: cookiesOf(response.headers), session: cookies.cookie };
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
  { url }: Server,
  request: LoadRequest,
  status: number,
  isRight: Operation["isRight"],
): Promise<void> {
  const response = await send(url, request);
  const copy = response.clone();
  if (response.status === status && await isRight(response)) return;
  throw new Error(
    `${what} answered ${copy.status}, ${copy.headers.get("location")}: ${await copy.text()}`,
  );
}
