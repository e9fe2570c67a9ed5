/** The browser client. */
import type { Session } from "@auth/core/types";
import type { AuthClient, AuthClientOptions, AuthFailure, AuthProvider, AuthResult, PasskeyOptions } from "./types.ts";
import type { SessionResult, SignalPasskeysOptions, SignInOptions, SignOutOptions } from "./types.ts";

/** The answer to a question has not come, or is an error. */
export class AuthClientError extends Error {
  /** The name of the class. */
  override readonly name = "AuthClientError";
  /** What went wrong. */
  readonly failure: AuthFailure;

  /** Makes an error. */
  constructor(failure: AuthFailure) {
    super(failure.message ?? failure.error);
    this.failure = failure;
  }
}

/** What the server sent as JSON, or what went wrong. */
type Sent = { readonly ok: true; readonly body: unknown } | AuthFailure;

const UNREACHABLE = { ok: false, error: "Unreachable", status: 0 } as const;

/** What was thrown before there was an answer, such as for data that JSON cannot hold. */
function thrown(error: unknown): AuthFailure {
  const { name, message } = error as Error;
  return { ok: false, error: name, status: 0, message };
}

/** The part of a page's location that is used. */
interface PageLocation {
  readonly href: string;
  assign(url: string): void;
  reload(): void;
}

/** That of the page, if there is one: a worker has a location, too, but cannot go elsewhere. */
const { location } = (globalThis as { document?: { location?: PageLocation } }).document ?? {};

/** Whether the body of an answer is one of the plugin's. */
type IsOurs = (body: unknown) => boolean;

const isObject: IsOurs = (body) => typeof body === "object" && body !== null;
const isSession: IsOurs = (body) => body === null || isObject(body);
const leadsOn: IsOurs = (body) => typeof (body as { url?: unknown } | null)?.url === "string";

/**
 * Makes a client.
 * @returns The client. Nothing is requested before it is used.
 * @throws {TypeError} If there is no such option.
 *
 * @example
 * ```ts
 * import { createAuthClient } from "fastify-authjs/client";
 *
 * const { signIn } = createAuthClient({
 *   baseUrl: "https://api.example/auth",
 *   // Only here: a server that refuses every password.
 *   fetch: (url) =>
 *     Promise.resolve(
 *       url.includes("/callback/")
 *         ? Response.json({ error: "CredentialsSignin", code: "credentials" }, { status: 401 })
 *         : Response.json({ csrfToken: "a token", password: { type: "credentials" } }),
 *     ),
 * });
 *
 * const result = await signIn("password", { fields: { username: "ada", password: "wrong" } });
 * console.assert(!result.ok && result.error === "CredentialsSignin");
 * ```
 */
export function createAuthClient<S = Session>(options: AuthClientOptions = {}): AuthClient<S> {
  const { baseUrl = "/auth", fetch: send = (url, init) => fetch(url, init), ...others } = options;
  for (const name in others) throw new TypeError(`No option "${name}": there are "baseUrl" and "fetch"`);
  const base = baseUrl.replace(/\/+$/, "");
  const listeners = new Set<() => void>();
  /** Kept: the browser keeps the cookie that belongs to the token, too. */
  let csrf: Promise<Sent> | undefined;
  let providers: Promise<Sent> | undefined;
  let ceremony: AbortController | undefined;

  async function request(path: string, isOurs: IsOurs, init: RequestInit = {}): Promise<Sent> {
    let response: Response;
    let text: string;
    try {
      const headers = { accept: "application/json", ...init.headers };
      // A browser's cache would hold a request back while another one for the same address has no answer.
      response = await send(base + path, { credentials: "include", cache: "no-store", ...init, headers });
      text = await response.text();
    } catch (error) {
      const { name, message } = error as Error;
      return { ...UNREACHABLE, ...(name === "AbortError" && { error: name }), message };
    }
    const body = parse(text);
    if (!response.ok) return failureOf(response, body);
    if (isOurs(body)) return { ok: true, body };
    // Such as the page that a single-page application answers for every path.
    const message = `${response.url} is not the plugin: is it registered at \`baseUrl\`?`;
    return { ...UNREACHABLE, status: response.status, message };
  }

  /** With a CSRF token. One that is refused, since its cookie has gone, is replaced once. */
  async function post(path: string, fields: Record<string, unknown>, { isOurs = leadsOn, asJson = false } = {}) {
    for (let isFirst = true;; isFirst = false) {
      const asked = csrf ??= request("/csrf", isObject);
      const found = await asked;
      /** Another call may have asked for the next one: of two tokens the browser keeps one cookie. */
      const forget = () => csrf === asked && (csrf = undefined);
      // With `skipCSRFCheck` there are none.
      if (!found.ok && found.status !== 404) {
        forget();
        return found;
      }
      const all = { ...fields, ...(found.ok && found.body as { csrfToken: string }) };
      // A form needs no preflight on another origin.
      const sent = await request(path, isOurs, {
        method: "POST",
        body: asJson ? JSON.stringify(all) : new URLSearchParams(all as Record<string, string>),
        ...(asJson && { headers: { "content-type": "application/json" } }),
      });
      if (sent.ok || sent.error !== "MissingCSRF" || !isFirst) return sent;
      forget();
    }
  }

  /** Not at once: what a listener throws is reported by the browser, and does not reject the call. */
  const tell = () => listeners.forEach((listener) => queueMicrotask(listener));

  /** Goes where a result leads, unless the page is to stay. */
  function finish(sent: Sent, redirect = true): AuthResult {
    if (!sent.ok) return sent;
    const url = absolute((sent.body as { url: string }).url, base);
    tell();
    // Without a page a path stays one. A redirect leads to no script.
    const canOpen = URL.canParse(url) ? new URL(url).protocol !== "javascript:" : !location;
    if (!canOpen) return { ok: false, error: "Configuration", status: 200, message: `Cannot open ${url}` };
    // deno-coverage-ignore-start Only browsers have pages: tests/kernel/client/client_browser_test.ts has one
    if (redirect && location) {
      const { href } = location;
      location.assign(url);
      // To go to another fragment of a page does not load it.
      if (url.split("#")[0] === href.split("#")[0] && url.includes("#")) location.reload();
    }
    // deno-coverage-ignore-stop
    return { ok: true, url };
  }

  async function findProviders(): Promise<Sent> {
    const found = await (providers ??= request("/providers", isObject));
    if (!found.ok) providers = undefined;
    return found;
  }

  // deno-coverage-ignore-start Only browsers have passkeys: tests/kernel/client/client_browser_test.ts has one
  async function usePasskey(
    action: "authenticate" | "register",
    provider: string,
    { fields, signal, mediation, redirect, ...options }: Omit<SignInOptions, "parameters">,
  ): Promise<AuthResult> {
    const id = encodeURIComponent(provider);
    ceremony?.abort(); // The browser shows one at a time.
    const own = ceremony = new AbortController();
    if (signal?.aborted) own.abort();
    signal?.addEventListener("abort", () => own.abort());
    const query = new URLSearchParams({ ...defined(fields), action });
    const found = await request(`/webauthn-options/${id}?${query}`, isObject, { signal: own.signal });
    if (!found.ok) return found;
    const passkeys = await loadPasskeys().catch(() => undefined);
    if (!passkeys) return { ...UNREACHABLE, message: "Passkeys did not load." };
    const data = await passkeys.getCredential(found.body as never, own.signal, mediation);
    const sent = await post(`/callback/${id}`, { action, data, ...choicesOf(options) });
    if (!sent.ok && sent.code === "unknown_passkey") {
      await passkeys.signalUnknown(found.body as never, JSON.parse(data).id).catch(() => {});
    }
    return finish(sent, redirect);
  }

  async function signalPasskeys({ provider = "passkey", removed }: SignalPasskeysOptions = {}) {
    const found = await request(`/webauthn-options/${encodeURIComponent(provider)}?action=register`, isObject);
    if (!found.ok) return;
    const passkeys = await loadPasskeys();
    if (removed !== undefined) await passkeys.signalUnknown(found.body as never, removed);
    await passkeys.signalAccepted(found.body as never);
  }
  // deno-coverage-ignore-stop

  async function signIn(provider: string, options: SignInOptions = {}): Promise<AuthResult> {
    assertOptions(options);
    const found = await findProviders();
    if (!found.ok) return found;
    const type = (found.body as Record<string, AuthProvider>)[provider]?.type;
    const { parameters, redirect } = options;
    if (type === "webauthn") return await usePasskey("authenticate", provider, options);
    const fields = defined(options.fields);
    const isCode = type === "email" && "code" in fields;
    const action = type === "credentials" || isCode ? "callback" : "signin";
    const path = `/${action}/${encodeURIComponent(provider)}?${new URLSearchParams(defined(parameters))}`;
    return finish(await post(path, { ...fields, ...choicesOf(options) }), redirect);
  }

  async function signOut(options: SignOutOptions = {}): Promise<AuthResult> {
    if (!isEvent(options)) assertOptions(options);
    const sent = await post("/signout", choicesOf(options));
    // The browser has no session any more, also if the server could not end it.
    if (!sent.ok && sent.status === 503) tell();
    return finish(sent, options.redirect);
  }

  async function registerPasskey(given: PasskeyOptions = {}): Promise<AuthResult> {
    const { provider = "passkey", ...options } = given;
    if (!isEvent(given)) assertOptions(options);
    return await usePasskey("register", provider, options);
  }

  async function updateSession(data: unknown): Promise<SessionResult<S>> {
    const sent = await post("/session", { data }, { isOurs: isSession, asJson: true });
    if (!sent.ok) return sent;
    tell();
    return { ok: true, session: sent.body as S | null };
  }

  return {
    signIn: (...args) => signIn(...args).catch(thrown),
    signOut: (...args) => signOut(...args).catch(thrown),
    updateSession: (data) => updateSession(data).catch(thrown),
    getSession: async () => answerOf(await request("/session", isSession)) as S | null,
    getProviders: async () => answerOf(await findProviders()) as Record<string, AuthProvider>,
    registerPasskey: (options) => registerPasskey(options).catch(thrown),
    signalPasskeys: (options) => signalPasskeys(options).catch(() => {}),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** A function that listens to a click is given the event. */
const isEvent = (options: object) => "target" in options;

const OPTIONS = ["callbackUrl", "fields", "mediation", "parameters", "redirect", "rememberMe", "signal"];

/** What the user typed must not be left out in silence. */
function assertOptions(options: object): void {
  const wrong = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (!wrong) return;
  throw new TypeError(`No option "${wrong}": what the user typed goes under "fields", where to go is "callbackUrl"`);
}

/**
 * What is undefined is left out: a form has texts alone, and would say "undefined". What can be iterated, such as
 * FormData, has its members elsewhere.
 */
function defined(given?: object): Record<string, string> {
  const fields = Object(given);
  const all: [string, string][] = Symbol.iterator in fields ? [...fields] : Object.entries(fields);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

const loadPasskeys = () => import("./passkeys.ts");

function choicesOf({ callbackUrl, rememberMe }: SignInOptions): Record<string, unknown> {
  // A parameter that the page does not have is null.
  return defined({ callbackUrl: callbackUrl ?? location?.href, rememberMe });
}

function answerOf(sent: Sent): unknown {
  if (sent.ok) return sent.body;
  throw new AuthClientError(sent);
}

/** The address to go to: a `redirect` callback may return a path. */
function absolute(url: string, base: string): string {
  const root = location ? new URL(base, location.href).href : base;
  return !URL.canParse(url) && URL.canParse(url, root) ? new URL(url, root).href : url;
}

/** `undefined` for what is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function failureOf(response: Response, body: unknown): AuthFailure {
  // A proxy, or the error handler of the application, may have answered.
  const { error, code, message } = Object.fromEntries(
    Object.entries(body ?? {}).filter(([, value]) => typeof value === "string"),
  );
  const retryAfter = response.headers.get("retry-after");
  return {
    ok: false,
    error: error || response.statusText || `HTTP ${response.status}`,
    status: response.status,
    ...(code && { code }),
    ...(message && { message }),
    ...(retryAfter && { retryAfter }),
  };
}
