/**
 * Compares two reads of one session: by `getSession()`, and by the whole of core as a plain integration calls it.
 *
 * @module
 */
import { Auth, type AuthConfig } from "@auth/core";
import { decode, encode } from "@auth/core/jwt";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { SECRET } from "./app.ts";

/** What a read gave, in a form that can be compared: times are relative, errors and tokens are told by what they say. */
export interface Observed {
  /** The session, or what was thrown. */
  session: unknown;
  /** Calls of callbacks, events, codecs and adapter methods, in order, with their arguments. */
  calls: unknown[];
  /** What was logged as an error. */
  errors: string[];
  /** What the browser is told of the session cookie. */
  cookies: unknown[];
}

/** A request that carries a session. */
export interface Carried {
  cookie?: string | undefined;
  headers?: Record<string, string>;
  /** As the server sees it. */
  scheme?: "http" | "https";
}

/** Makes a configuration that notes what is called. It is made twice, so that neither way sees the other's. */
export type ConfigMaker = (note: (...call: unknown[]) => void) => Partial<FastifyAuthConfig>;

/** One case with both reads. Each can be made several times. */
export class SessionComparison implements AsyncDisposable {
  readonly #ours: FastifyAuthConfig;
  readonly #theirs: FastifyAuthConfig;
  readonly #options: FastifyServerOptions;
  readonly #notes = { ours: newNotes(), theirs: newNotes() };
  #app: FastifyInstance | undefined;

  constructor(make: ConfigMaker, options: FastifyServerOptions = {}) {
    this.#ours = complete(make, this.#notes.ours);
    this.#theirs = complete(make, this.#notes.theirs);
    this.#options = options;
  }

  /** Through `getSession()` in a route, with the plugin registered. */
  async ours({ cookie, headers = {}, scheme = "http" }: Carried): Promise<Observed> {
    const app = this.#app ??= await this.#start();
    const answer = await app.inject({
      url: "/",
      headers: {
        host: "localhost",
        ...(scheme === "https" && { "x-forwarded-proto": "https" }),
        ...headers,
        ...(cookie !== undefined && { cookie }),
      },
    });
    const lines = [answer.headers["set-cookie"] ?? []].flat();
    return await this.#observed("ours", answer.json().session, lines, cookie);
  }

  /** Through core's session action. */
  async theirs({ cookie, headers = {}, scheme = "http" }: Carried): Promise<Observed> {
    const request = () =>
      new Request(`${scheme}://localhost/auth/session`, {
        headers: { ...headers, ...(cookie && { cookie }) },
      });
    let session: unknown, lines: string[] = [];
    try {
      const response = await Auth(request(), { ...this.#theirs, basePath: "/auth" } as AuthConfig);
      lines = response.headers.getSetCookie();
      const body = await response.json();
      session = response.ok ? body : `THROWS ${body.message}`;
    } catch (error) {
      session = `THROWS ${(error as Error).name}`;
    }
    return await this.#observed("theirs", session, lines, cookie);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#app?.close();
  }

  async #start(): Promise<FastifyInstance> {
    const config = this.#ours;
    const app = Fastify({ trustProxy: true, ...this.#options }) as FastifyInstance;
    await app.register(FastifyAuth(config), { prefix: "/auth" });
    app.get("/", async (request) => ({ session: await getSession(request, config) }));
    // The codec of an application is tried at boot.
    await app.ready();
    this.#notes.ours.calls.length = 0;
    return app;
  }

  async #observed(
    way: "ours" | "theirs",
    session: unknown,
    lines: string[],
    carried = "",
  ): Promise<Observed> {
    const notes = this.#notes[way];
    const name = this.#ours.cookies?.sessionToken?.name ?? "authjs.session-token";
    // To remove what the request did not carry changes nothing that a test with one request could see.
    const names = carried.split(";").map((pair) => pair.split("=")[0]!.trim());
    const told = (line: string) => !/^[^=]+=;/.test(line) || names.includes(line.split("=")[0]!);
    const own = lines.filter((line) => line.replace(/^__Secure-/, "").startsWith(name) && told(line));
    const observed = {
      session: relative(session),
      calls: notes.calls.map((call) => relative(call)),
      errors: [...notes.errors],
      cookies: await Promise.all(joined(own).map((cookie) => this.#described(cookie))),
    };
    notes.calls.length = notes.errors.length = 0;
    return observed;
  }

  /** What a Set-Cookie line says, with the claims for the token. */
  async #described({ name, value, attributes }: Cookie): Promise<unknown> {
    if (!value.startsWith("eyJ")) return { name, value, attributes };
    const salt = name.replace(/\.0$/, "");
    const secret = (this.#ours.jwt as { secret?: string })?.secret ?? this.#ours.secret!;
    const { iat, exp, jti, ...claims } = withoutName((await decode({ token: value, secret, salt }))!);
    return {
      name,
      claims,
      lifetime: exp! - iat!,
      jti: typeof jti,
      chunks: Math.ceil((await encode({ token: claims, secret, salt })).length / 3936),
      attributes,
    };
  }
}

/** Reads one case once by each. */
export async function compareReads(
  make: ConfigMaker,
  carried: Carried,
): Promise<{ ours: Observed; theirs: Observed }> {
  await using comparison = new SessionComparison(make);
  return { ours: await comparison.ours(carried), theirs: await comparison.theirs(carried) };
}

interface Notes {
  calls: unknown[];
  errors: string[];
}

const newNotes = (): Notes => ({ calls: [], errors: [] });

function complete(make: ConfigMaker, notes: Notes): FastifyAuthConfig {
  const note = (...call: unknown[]) => notes.calls.push(call.map(snapshot).map(withoutName));
  return {
    providers: [],
    secret: SECRET,
    trustHost: true,
    sessionCookieLimit: 0, // As core, which has none.
    logger: {
      error: (error) => {
        const { err } = (error.cause ?? {}) as { err?: Error };
        notes.errors.push([error.name, err?.name, err?.message ?? ""].join(" "));
      },
      warn: () => {},
      debug: () => {},
    },
    ...make(note),
  };
}

/** Claims without the name of the session, which only our tokens have. */
function withoutName<T>(claims: T): T {
  if (typeof claims !== "object" || claims === null || !("session_name" in claims)) return claims;
  const { session_name: _name, ...others } = claims;
  return others as T;
}

/** A copy, so that later changes to an argument do not show. */
function snapshot(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return String(value);
  }
}

/** So many seconds from now as {@linkcode Observed} has them, in steps of ten. */
export function inSeconds(seconds: number): string {
  return `in ${Math.floor((seconds + 7) / 10) * 10} s`;
}

/** An end that is told, also if a session callback returns nothing but that. */
function isEnd(name: string, value: unknown): boolean {
  return (name === "expires" || name === "session") && /^in -?\d+ s$/.test(String(value));
}

/** What was observed, had the session been told to end at another time. */
export function endingAt(observed: Observed, expires: string): Observed {
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        isEnd(name, item) ? expires : change(item),
      ]),
    );
  };
  const notOfAdapter = (call: unknown) => Array.isArray(call) && /^(session|event)$/.test(call[0]);
  return {
    ...observed,
    session: change(observed.session),
    calls: observed.calls.map((call) => notOfAdapter(call) ? change(call) : call),
  };
}

/**
 * Dates as seconds from now, in steps of ten: the two reads are a moment apart. The steps begin where no test has a date, which
 * a moment would take across. A date of the last century is the same in both reads and stays as it is. Random ids are only
 * told to be there.
 */
function relative(value: unknown, key = ""): unknown {
  const seconds = (milliseconds: number) =>
    milliseconds < Date.UTC(2000) ? `${milliseconds} ms since 1970` : inSeconds((milliseconds - Date.now()) / 1000);
  if (key === "jti") return typeof value;
  if (value instanceof Date) return seconds(value.valueOf());
  if (typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) {
    return seconds(Date.parse(value));
  }
  if (typeof value === "number" && (key === "iat" || key === "exp")) return seconds(value * 1000);
  if (Array.isArray(value)) return value.map((item) => relative(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, relative(item, name)]));
}

interface Cookie {
  name: string;
  value: string;
  attributes: string;
}

/** The lines with the date made relative; the chunks of a token as the one it is. */
function joined(lines: string[]): Cookie[] {
  const cookies = lines.map((line) => {
    const [, name, value, rest] = /^([^=]+)=([^;]*)(.*)$/.exec(line)! as unknown as [
      string,
      string,
      string,
      string,
    ];
    return {
      name,
      value,
      attributes: rest.replace(/Expires=([^;]*)/, (_, date) => `Expires ${relative(new Date(date))}`),
    };
  });
  const place = ({ name }: Cookie) => Number(/\.(\d+)$/.exec(name)?.[1] ?? -1);
  const chunks = cookies.filter((cookie) => cookie.value && place(cookie) >= 0).sort((a, b) => place(a) - place(b));
  if (chunks.length === 0) return cookies;
  const value = chunks.map((chunk) => chunk.value).join("");
  return [...cookies.filter((cookie) => !chunks.includes(cookie)), { ...chunks[0]!, value }];
}
