/** The only place that calls core to answer a request. Core makes, reads and removes no session. */
import { Auth, type AuthConfig, raw, skipCSRFCheck } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import { AuthError, OAuthProfileParseError } from "@auth/core/errors";
import type { Provider } from "@auth/core/providers";
import type { User } from "@auth/core/types";
import type { IncomingHttpHeaders } from "node:http";
import { MISSING_METHODS } from "../adapter/bind.ts";
import { CallAdapter } from "../adapter/call_adapter.ts";
import { unavailableError } from "../adapter/failure.ts";
import { sealForCore } from "../jwt/jwe.ts";
import { sharedStore } from "../session/ending.ts";
import type { SignedIn } from "../session/open.ts";
import { toError } from "../utils/error_chain.ts";
import { type Answer, failedAnswer, jsonAnswer, redirectAnswer } from "./answer.ts";
import { addressOf, type ProviderContext } from "./context.ts";
import { errorAnswer } from "./failure.ts";
import { signInOf } from "./sign_in.ts";

export interface CoreCall {
  readonly checks?: Checks;
  /** Whether functions in `settings` get the body, which core takes long to read. */
  readonly withoutBody?: boolean;
  /** What is other than in the settings of the provider. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The user to whom core links the account. Without one it links none. */
  readonly signedIn?: SignedIn | undefined;
  readonly wrapAdapter?: (adapter: Adapter) => Adapter;
}

/** A function of a provider throws it to end the call of core. The body is that of the answer. */
export class CoreEnded extends AuthError {
  constructor(readonly body: unknown) {
    super();
  }
}

/** What the names of cookies begin with that core alone knows, and that of its session. */
const INTERNAL = "fastify-authjs.", SESSION = `${INTERNAL}session`;

/** Calls core with a request. Never rejects: if core fails, the answer has an `error`. */
export async function callCore(context: ProviderContext, call: CoreCall = {}): Promise<Answer> {
  const { config: { core, hashSecrets, coreProviders }, provider, settings, logger, callbackUrl } = context;
  const { checks, signedIn } = call;
  const watched = settings.adapter && callAdapterOf(settings.adapter, context);
  const adapter = watched && (call.wrapAdapter?.(watched.adapter) ?? watched.adapter);
  const signIn = signInOf(context, adapter, signedIn);
  // Core logs an error before it answers or throws, some twice.
  const errors = new Set<Error>();
  const told: { logger: typeof logger | undefined } = { logger };
  // A fresh object each time, since core writes into what it is given. With `raw` it answers with data.
  const config: AuthConfig & { raw: typeof raw } = {
    raw,
    providers: [{
      ...coreProviders.get(provider.id)!,
      ...call.settings,
      // `callback/attempts.ts` adds the others to the redirect. Core would seal each in a cookie of its own.
      ...(context.action === "signin" && provider.isOAuth && {
        checks: provider.checks.filter((check) => check === "state"),
      }),
    } as unknown as Provider],
    // Core hashes with this secret, and seals check cookies with that of `jwt`.
    secret: hashSecrets.current,
    jwt: {
      secret: settings.jwt.secret,
      encode: () => Promise.resolve("ours"),
      decode: () => Promise.resolve(signedIn),
    } as AuthConfig["jwt"] & object,
    session: { strategy: "jwt", maxAge: settings.maxAge },
    cookies: { sessionToken: { name: SESSION }, callbackUrl: settings.callbackUrlCookie, ...CHECK_COOKIES },
    // Core wraps the object's own methods with each call, and only looks whether it has others.
    adapter: { __proto__: MISSING_METHODS, ...adapter ?? signIn.adapter } as Adapter,
    callbacks: signIn.callbacks,
    events: signIn.events,
    experimental: { ...core.experimental, enableWebAuthn: true },
    basePath: context.mountPath,
    trustHost: true,
    skipCSRFCheck,
    logger: {
      error: errors.add.bind(errors),
      warn: (code) => told.logger?.warn(code),
      debug: (message, metadata) => told.logger?.debug(message, metadata),
    },
    ...(core.redirectProxyUrl !== undefined && { redirectProxyUrl: core.redirectProxyUrl }),
    ...(core.theme !== undefined && { theme: core.theme }),
  };
  try {
    let answer: Answer;
    try {
      const session = signedIn ? `${SESSION}=ours; ` : "";
      const cookieHeader = `${session}${checks ? checkHeader(checks, context) : ""}${context.cookies}`;
      // Only functions of WebAuthn get the headers, which cost core as much as the rest of a request.
      const headers = provider.type === "webauthn" ? context.headers : {};
      const query = callbackUrl === undefined ? "" : `callbackUrl=${encodeURIComponent(callbackUrl)}`;
      const given = call.withoutBody && { body: undefined, query };
      const request = requestOf({ ...context, ...given, cookies: cookieHeader, headers });
      const result = await Auth(request, config) as RawAnswer | Response | undefined;
      // A Response if it refuses a request at once; nothing if a passkey is registered without an address.
      const isRefused = result === undefined || result instanceof Response;
      // If the profile cannot be read, core means to redirect to the sign-in page, as if nothing had failed.
      if (isRefused || result.redirect === `${request.url}/signin`) {
        if (errors.size > 0) throw [...errors].at(-1);
        if (isRefused) throw new Error("Auth.js gave no answer");
        throw new OAuthProfileParseError(`"${provider.id}" gave no data of the user`);
      }
      const { status = 200, body, cookies = [], redirect } = result;
      answer = await signIn.complete({
        ...(redirect ? redirectAnswer(redirect) : jsonAnswer(body, status)),
        cookies: cookies.filter(({ name }) => !name.startsWith(INTERNAL)),
      });
    } catch (error) {
      errors.delete(error as Error);
      answer = error instanceof CoreEnded ? jsonAnswer(error.body) : errorAnswer(error, context);
    }
    for (const error of errors) logger.error(toError(error));
    const failure = await watched?.finish(answer.error);
    if (failure === undefined) return answer;
    if (answer.error !== undefined) logger.error(answer.error);
    return failedAnswer(unavailableError(failure));
  } finally {
    // Also if the application's logger throws.
    await watched?.end();
    // Core assigns functions to properties. V8 keeps such a function, and all that it leads to, until a full garbage
    // collection. These lead to the request.
    errors.clear();
    told.logger = undefined;
    for (const made of [config.adapter, config.events] as Record<string, unknown>[]) {
      for (const name of Object.keys(made)) made[name] = undefined;
    }
  }
}

type RawAnswer = Partial<Pick<Answer, "status" | "body" | "cookies" | "redirect">>;

// By RFC 9110 section 5, which ":authority" of HTTP/2 and names in `app.inject()` need not keep to. Headers about the
// connection, the received body and the form of our answer are left out.
const HEADER_NAME =
  /^(?!(?:connection|content-length|keep-alive|transfer-encoding|upgrade|x-auth-return-redirect)$)[\w!#$%&'*+.^`|~-]+$/;
const NO_HEADER_VALUE = /[^\t -~\x80-\xff]+/g;

/** What a request is made from, without the request of the browser itself. */
export type Sent = Pick<
  ProviderContext,
  "action" | "body" | "cookies" | "headers" | "method" | "mountPath" | "origin" | "provider" | "query"
>;

/** A request with what the browser sent. Its path is from the parameters of the route: core acts on the same. */
export function requestOf(sent: Sent): Request {
  const { method, body, cookies: cookie, origin: { host } } = sent;
  const headers: Record<string, string> = {};
  const type = body && { "content-type": "application/json" };
  const all: IncomingHttpHeaders = { ...sent.headers, host, cookie, ...type };
  for (const name in all) {
    const value = all[name];
    if (value === undefined || !HEADER_NAME.test(name)) continue;
    headers[name] = String(value).replace(NO_HEADER_VALUE, (text) => encodeURIComponent(text.toWellFormed()));
  }
  return new Request(addressOf(sent), { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

function callAdapterOf(adapter: Adapter, context: ProviderContext): CallAdapter {
  const { config: { signIns, hashSecrets: { current: secret } }, provider: { type }, action, logger } = context;
  if (action !== "callback") return new CallAdapter(adapter, undefined);
  return new CallAdapter(adapter, { type, store: sharedStore(context), secret, report: logger.error, ...signIns });
}

export interface Checks {
  readonly state?: string | undefined;
  readonly pkce?: string | undefined;
  readonly nonce?: string | undefined;
  readonly challenge?: string | undefined;
  readonly user?: User | undefined;
}

const CHECK_COOKIES: NonNullable<AuthConfig["cookies"]> = {
  state: { name: "fastify-authjs.state" },
  pkceCodeVerifier: { name: "fastify-authjs.pkce" },
  nonce: { name: "fastify-authjs.nonce" },
  webauthnChallenge: { name: "fastify-authjs.challenge" },
};

/** What core seals the content of the cookie of a challenge for, once more (0.41.3). */
const CHALLENGE_SALT = "encodedWebauthnChallenge";

function checkHeader({ challenge, user: registerData, ...checks }: Checks, context: ProviderContext): string {
  const { provider, settings: { jwt: { secret } } } = context;
  const content = challenge && sealForCore({ challenge, registerData }, secret, CHALLENGE_SALT);
  let header = "";
  for (const [check, value] of Object.entries({ challenge: content, ...checks })) {
    const name = `fastify-authjs.${check}`;
    if (value !== undefined) header += `${name}=${sealForCore({ value, provider: provider.id }, secret, name)}; `;
  }
  return header;
}
