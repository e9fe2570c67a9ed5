/**
 * Signing in and out and updating the session from routes of the application: what the auth routes do, without a
 * request to them.
 */
import { type Handler, withoutSession } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { FEATURES, type FeatureSignOutOptions } from "../features/mod.ts";
import { assertObject, invalid } from "../utils/arguments.ts";
import { handleCallback } from "../routes/callback/callback.ts";
import { handleSession } from "../routes/session_update.ts";
import { handleSignIn } from "../routes/signin.ts";
import { handleSignOut } from "../routes/signout.ts";
import { SIGNED_OUT } from "../session/read.ts";
import type { GuardedReply, Session } from "../types.ts";
import { type ActionAuth, type ActionRequest, parametersOf, perform, urlOf } from "./perform.ts";

/** The option of actions that a link alone must not start, such as a sign-out. */
export interface AllowGetOptions {
  /**
   * Whether a GET or HEAD that no page of the application sent is served: an address that the user typed, and a link in
   * a mail or another program.
   * @default false
   */
  allowGet?: boolean;
}

/** Options of a sign-out. */
export interface SignOutActionOptions extends AllowGetOptions, FeatureSignOutOptions {
  /**
   * Where the user goes afterwards: a path or a URL, which the `redirect` callback has to allow.
   * @default that of the callback-url cookie, else the public origin
   */
  callbackUrl?: string;
  /**
   * Whether the reply is sent: a redirect, or `{ url }` to a script that asks for JSON. With `false` the reply gets
   * only its cookies, and the route sends it.
   * @default true
   */
  redirect?: boolean;
}

/** Options of a sign-in. */
export interface SignInActionOptions extends Pick<SignOutActionOptions, "callbackUrl" | "redirect"> {
  /**
   * What the user has entered: the `email` for a sign-in link, the credentials for `authorize()`. A body as Fastify
   * parsed it can be given as it is. Values are strings, numbers or booleans.
   */
  fields?: unknown;
  /**
   * Whether the session goes on when the browser is closed. If not, it lives for `session.ephemeralMaxAge`.
   * @default what `fields` say, else as in the session that it replaces, else true
   */
  rememberMe?: boolean;
  /**
   * Parameters that are added to the authorization request of an OAuth provider: `{ login_hint: "ada@example.com" }`.
   */
  authorizationParams?: Readonly<Record<string, string>>;
}

/** What a sign-out gives with `redirect: false`. */
export interface SignOutActionResult {
  /** Where the user goes: a path or a URL. */
  readonly url: string;
}

/** What a sign-in gives with `redirect: false`. */
export interface SignInActionResult {
  /** Where the user goes: a provider, the page that says that a link was mailed, or the callback URL. */
  readonly url: string;
  /**
   * Whether the user is signed in now. A sign-in at a provider or by e-mail has only begun, and the `signIn` callback
   * may have named a page instead.
   */
  readonly signedIn: boolean;
}

const SIGN_IN = ["fields", "callbackUrl", "redirect", "rememberMe", "authorizationParams"];
const OF_FEATURES = FEATURES.flatMap(({ lacking, options = [] }) => lacking ? options : []);
const SIGN_OUT = ["callbackUrl", "redirect", "allowGet", ...OF_FEATURES];

/** Begins a sign-in, or signs in with credentials. */
export async function signIn(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  provider: string | undefined,
  options: SignInActionOptions = {},
): Promise<SignInActionResult | void> {
  assertObject(options, "options of signIn()", SIGN_IN);
  const { authorizationParams, callbackUrl, rememberMe } = options;
  const query = authorizationParams === undefined ? undefined : parametersOf(authorizationParams, "signIn()");
  const { type, isOAuth = true } = auth.instance.config.providers.get(provider ?? "") ?? {};
  // A request without a body has nothing that begins at a provider would need.
  const fields = "fields" in options && !(isOAuth && options.fields === undefined) ? options.fields : {};
  const posted = type === "credentials" || type === "webauthn";
  // A guard asks who the user is: an account that nobody has yet must not be linked to the user of the session.
  const begin: Handler = (context) => handleSignIn(auth.byGuard ? withoutSession(context) : context);
  const outcome = await perform(auth, request, reply, {
    what: "Signing in",
    action: posted ? "callback" : "signin",
    provider,
    query,
    fields,
    callbackUrl,
    rememberMe,
    handle: posted ? handleCallback as Handler : begin,
    isSent: options.redirect !== false,
  });
  if (options.redirect === false) return { url: urlOf(outcome), signedIn: Boolean(outcome.answer.session) };
}

export async function signOut(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  options: SignOutActionOptions = {},
): Promise<SignOutActionResult | void> {
  assertObject(options, "options of signOut()", SIGN_OUT);
  const { callbackUrl, redirect, allowGet } = options;
  const lacking = FEATURES.map((each) => each.lacking?.(options, auth.config)).find(Boolean);
  if (lacking) throw invalid("signOut()", lacking);
  const outcome = await perform(auth, request, reply, {
    what: "Signing out",
    action: "signout",
    notForLinks: allowGet !== true && "signOut()",
    fields: {},
    callbackUrl,
    handle: (context) => handleSignOut(context, options),
    isSent: redirect !== false,
    read: () => SIGNED_OUT,
  });
  if (redirect === false) return { url: urlOf(outcome) };
}

export async function updateSession(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  data: unknown,
  options: AllowGetOptions = {},
): Promise<Session> {
  assertObject(options, "options of updateSession()", ["allowGet"]);
  const outcome = await perform(auth, request, reply, {
    what: "Updating the session",
    action: "session",
    notForLinks: options.allowGet !== true && "updateSession()",
    fields: data === undefined ? {} : { data: toJson(data) },
    handle: handleSession,
    read: ({ body }) => ({ session: body as Session | null }),
  });
  const { session = null } = outcome.read ?? {};
  if (session !== null) return session;
  throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "There is no session to update. Sign in first.");
}

/** The data as a browser would send them: the callback can be called by either. */
function toJson(data: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(data);
  } catch {
    // A BigInt, a cycle.
  }
  if (text !== undefined) return JSON.parse(text);
  throw invalid(
    "updateSession()",
    "the data must be what JSON can hold: objects, lists, texts, numbers, booleans or null; no function, no BigInt " +
      "and no object that contains itself.",
  );
}
