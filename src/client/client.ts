/** The browser client. */
import type { Session } from "@auth/core/types";
import type {
  AuthClient,
  AuthClientOptions,
  AuthErrorType,
  AuthFailure,
  AuthProvider,
  AuthResult,
  PasskeyOptions,
  SignInOptions,
  SignOutOptions,
} from "./types.ts";

/** The answer to a question has not come, or is an error. */
export class AuthClientError extends Error {
  /** The name of the class. */
  override readonly name = "AuthClientError";
  /** What went wrong. */
  readonly failure: AuthFailure;

  /**
   * Makes an error.
   *
   * @param failure What went wrong.
   */
  constructor(failure: AuthFailure) {
    super(failure.message ?? failure.error);
    this.failure = failure;
  }
}

/** What the server sent as JSON, or what went wrong. */
type Sent = { readonly ok: true; readonly body: unknown } | AuthFailure;

/** The page, where there is one. */
const { location } = globalThis as { location?: { href: string; assign(url: string): void; reload(): void } };

/**
 * Makes a client.
 *
 * @param options Where the plugin is.
 * @returns The client. Nothing is requested before it is used.
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
  const { baseUrl = "/auth", fetch: send = (url, init) => fetch(url, init) } = options;
  const base = baseUrl.replace(/\/+$/, "");
  const listeners = new Set<() => void>();
  /** Kept: the browser keeps the cookie that belongs to the token, too. */
  let csrf: Promise<Sent> | undefined;
  let providers: Promise<Sent> | undefined;
  let ceremony: AbortController | undefined;

  async function request(path: string, init: RequestInit = {}): Promise<Sent> {
    let response: Response;
    let body: unknown;
    try {
      const headers = { accept: "application/json", ...init.headers };
      response = await send(base + path, { credentials: "include", ...init, headers });
      body = await response.json().catch(() => undefined);
    } catch (error) {
      const { name, message } = error as Error;
      return { ok: false, error: name === "AbortError" ? name : "Unreachable", status: 0, message };
    }
    if (!response.ok) return failureOf(response, body);
    return body === undefined ? noJson(response) : { ok: true, body };
  }

  /** With a CSRF token. One that is refused, since its cookie has gone, is replaced once. */
  async function post(path: string, fields: Record<string, unknown>, asJson = false): Promise<Sent> {
    for (let isFirst = true;; isFirst = false) {
      const asked = csrf ??= request("/csrf");
      const found = await asked;
      /** Another call may have asked for the next one: of two tokens the browser keeps one cookie. */
      const forget = () => csrf === asked && (csrf = undefined);
      if (!found.ok) forget();
      if (!found.ok) return found;
      const all = { ...fields, ...found.body as { csrfToken: string } };
      // A form needs no preflight on another origin.
      const sent = await request(path, {
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
    const { href } = location ?? {};
    const { url: given } = sent.body as { url: string };
    const url = URL.canParse(given) ? given : new URL(given, new URL(base, href)).href;
    tell();
    if (redirect && location) {
      location.assign(url);
      // To go to another fragment of a page does not load it.
      if (url.split("#")[0] === href?.split("#")[0] && url.includes("#")) location.reload();
    }
    return { ok: true, url };
  }

  async function findProviders(): Promise<Sent> {
    const found = await (providers ??= request("/providers"));
    if (!found.ok) providers = undefined;
    return found;
  }

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
    const query = new URLSearchParams({ ...fields, action });
    const found = await request(`/webauthn-options/${id}?${query}`, { signal: own.signal });
    if (!found.ok) return found;
    let data: string;
    try {
      const { getCredential } = await import("./passkeys.ts");
      data = await getCredential(found.body as never, own.signal, mediation);
    } catch (error) {
      const { name, message } = error as Error;
      return { ok: false, error: name, status: 0, message };
    }
    return finish(await post(`/callback/${id}`, { action, data, ...callbackOf(options) }), redirect);
  }

  return {
    async signIn(provider, options = {}) {
      const found = await findProviders();
      if (!found.ok) return found;
      const type = (found.body as Record<string, AuthProvider>)[provider]?.type;
      const { fields, parameters = {}, redirect } = options;
      if (type === "webauthn") return await usePasskey("authenticate", provider, options);
      const action = type === "credentials" ? "callback" : "signin";
      const path = `/${action}/${encodeURIComponent(provider)}?${new URLSearchParams(parameters)}`;
      return finish(await post(path, { ...fields, ...callbackOf(options) }), redirect);
    },
    signOut: async (options = {}) => finish(await post("/signout", callbackOf(options)), options.redirect),
    getSession: async () => answerOf(await request("/session")) as S | null,
    async updateSession(data) {
      const sent = await post("/session", { data }, true);
      if (!sent.ok) return sent;
      tell();
      return { ok: true, session: sent.body as S | null };
    },
    getProviders: async () => answerOf(await findProviders()) as Record<string, AuthProvider>,
    registerPasskey: ({ provider = "passkey", ...options }: PasskeyOptions = {}) =>
      usePasskey("register", provider, options),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function callbackOf({ callbackUrl = location?.href }: SignOutOptions): { callbackUrl?: string } {
  return callbackUrl === undefined ? {} : { callbackUrl };
}

function answerOf(sent: Sent): unknown {
  if (sent.ok) return sent.body;
  throw new AuthClientError(sent);
}

/** Such as the page that a single-page application answers for every path. */
function noJson({ status, url }: Response): AuthFailure {
  const message = `The answer of ${url} is no JSON: is the plugin registered at \`baseUrl\`?`;
  return { ok: false, error: "Unreachable", status, message };
}

function failureOf(response: Response, body: unknown): AuthFailure {
  const { error, code, message } = (body ?? {}) as Partial<Record<"error" | "code" | "message", string>>;
  const retryAfter = response.headers.get("retry-after");
  return {
    ok: false,
    error: (error ?? (response.statusText || `HTTP ${response.status}`)) as AuthErrorType,
    status: response.status,
    ...(code && { code }),
    ...(message && { message }),
    ...(retryAfter && { retryAfter }),
  };
}
