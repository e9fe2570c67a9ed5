/**
 * The only place that calls core to answer a request: to begin a sign-in, to finish one, and for the options
 * of a passkey. Core says who signs in; it makes, reads and removes no session.
 *
 * Core is called through its `raw` symbol, so that cookies, redirects and errors come back as data.
 */
import { Auth, type AuthConfig, raw, skipCSRFCheck } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { JWT } from "@auth/core/jwt";
import type { Provider } from "@auth/core/providers";
import type { SerializeOptions } from "cookie";
import type { SetCookie } from "../session/cookie.ts";
import { answerWithAdapter } from "./adapter_failure.ts";
import { MISSING_METHODS } from "./adapter_methods.ts";
import { type Answer, toSetCookieLine } from "./answer.ts";
import { CHECK_COOKIES, checkHeader, type Checks, checksIn } from "./checks.ts";
import { addressOf, type ProviderContext } from "./context.ts";
import { signInOf } from "./sign_in.ts";

/** The user who is signed in, as core is told. */
export type SignedIn = Pick<JWT, "sub" | "name" | "email" | "picture">;

/** What one call differs in. */
export interface CoreCall {
  /** What a callback is checked by. */
  readonly checks?: Checks;
  /** The providers. */
  readonly providers?: AuthConfig["providers"];
  /** The user to whom core links the account. Without one it links none. */
  readonly signedIn?: SignedIn | undefined;
  /** Wraps the adapter. */
  readonly wrapAdapter?: (adapter: Adapter) => Adapter;
}

/** What the names of the cookies begin with that core alone knows. */
const INTERNAL = "fastify-authjs.";

/** The session cookie as core knows it. */
const SESSION = `${INTERNAL}session`;

/** Calls core with a request. Never rejects: if core fails, the answer has an `error`. */
export async function callCore(context: ProviderContext, call: CoreCall = {}): Promise<Answer> {
  const { wrapAdapter = (adapter: Adapter) => adapter } = call;
  return context.config.core.adapter
    ? await answerWithAdapter(context, (adapter) => callWith(wrapAdapter(adapter), context, call))
    : await callWith(undefined, context, call);
}

async function callWith(
  adapter: Adapter | undefined,
  context: ProviderContext,
  call: CoreCall,
): Promise<Answer> {
  const { config: { core, hashSecrets, coreProviders }, settings } = context;
  const signIn = signInOf(context, adapter, call.signedIn !== undefined);
  // Core logs an error before it answers or throws, some twice. Why it failed is logged with the answer.
  const errors = new Set<Error>();
  // What core understands, and a fresh object each time, since core writes into what it is given.
  const config: AuthConfig & { raw: typeof raw } = {
    raw,
    providers: call.providers ?? [{
      ...coreProviders.get(context.provider.id)!,
      // Core refuses it without a field for it on its own page.
      enableConditionalUI: false,
      // Without a database there is no account to make a row of.
      ...(adapter === undefined && { account: () => undefined }),
    } as unknown as Provider],
    // Core hashes with this secret, and seals check cookies with that of `jwt`.
    secret: hashSecrets.current,
    jwt: {
      secret: settings.jwt.secret,
      encode: () => Promise.resolve("ours"),
      decode: () => Promise.resolve(call.signedIn ?? null),
    } as AuthConfig["jwt"] & object,
    session: { strategy: "jwt", maxAge: settings.maxAge },
    cookies: {
      ...CHECK_COOKIES,
      sessionToken: { name: SESSION },
      callbackUrl: settings.callbackUrlCookie,
    },
    adapter: { ...MISSING_METHODS, ...adapter ?? signIn.adapter },
    callbacks: signIn.callbacks,
    events: signIn.events,
    experimental: { ...core.experimental, enableWebAuthn: true },
    basePath: context.mountPath,
    trustHost: true,
    skipCSRFCheck,
    logger: { ...context.logger, error: (error) => void errors.add(error) },
    ...(core.useSecureCookies !== undefined && { useSecureCookies: core.useSecureCookies }),
    ...(core.redirectProxyUrl !== undefined && { redirectProxyUrl: core.redirectProxyUrl }),
    ...(core.debug !== undefined && { debug: core.debug }),
    ...(core.theme !== undefined && { theme: core.theme }),
  };
  let answer: Answer | undefined;
  let failure: Error | undefined;
  try {
    const result = await Auth(await requestFor(context, call), config) as unknown;
    // Core answers with a Response if it refuses a request at once, and for errors that are not its own; the error is
    // then only in its log. It answers with nothing if a passkey is registered without an address.
    if (result instanceof Response || result === undefined) {
      failure = [...errors].at(-1) ?? new Error("Auth.js gave no answer");
    } else answer = await toAnswer(result as RawAnswer, context);
  } catch (error) {
    failure = error as Error;
  }
  errors.delete(failure!);
  for (const error of errors) context.logger.error(error);
  if (answer === undefined) return signIn.fail(failure!);
  const logged = [...errors].at(-1);
  return signIn.complete({ ...answer, ...(logged && { logged }) });
}

/** What core returns with `raw`. */
interface RawAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly cookies?: readonly { name: string; value: string; options: SerializeOptions }[];
  readonly redirect?: string;
}

async function toAnswer(
  { status = 200, headers = {}, body, cookies = [], redirect }: RawAnswer,
  context: ProviderContext,
): Promise<Answer> {
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  const set = cookies as readonly SetCookie[];
  // Their names and attributes are those of the configuration.
  if (context.config.core.cookies) set.forEach(toSetCookieLine);
  return {
    status,
    headers: Object.fromEntries(lowerCase),
    body,
    cookies: set.filter(({ name }) => !name.startsWith(INTERNAL)),
    ...(context.action !== "callback" && { checks: await checksIn(set, context) }),
    ...(redirect && { redirect }),
  };
}

/** Headers about the connection and the length of the body that was received. */
const CONNECTION = ["connection", "content-length", "keep-alive", "transfer-encoding", "upgrade"];

/** The request for core. Its path is made from the parameters of the route, so that the two cannot differ. */
async function requestFor(context: ProviderContext, { signedIn, checks }: CoreCall): Promise<Request> {
  const { method, body, origin, cookies } = context;
  const headers = new Headers();
  for (const [name, value] of Object.entries(context.headers)) {
    // `app.inject()` accepts what no connection does, and no `Headers`.
    if (value !== undefined && NAME.test(name) && VALUE.test(String(value))) headers.set(name, String(value));
  }
  for (const name of CONNECTION) headers.delete(name);
  // The answer is written by us.
  headers.delete("x-auth-return-redirect");
  headers.set("host", origin.host);
  const session = signedIn === undefined ? "" : `${SESSION}=ours; `;
  const cookie = `${session}${checks ? await checkHeader(checks, context) : ""}${cookies}`;
  if (VALUE.test(cookie)) headers.set("cookie", cookie);
  if (body !== undefined) headers.set("content-type", "application/json");
  return new Request(addressOf(context), {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** A name of a header as Node gives it (RFC 9110 section 5.6.2); ":authority" and the like are of HTTP/2. */
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** A value that `Headers` accepts. */
const VALUE = /^[^\0\n\r\u0100-\uffff]*$/;
