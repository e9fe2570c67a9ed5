/**
 * Step-up: a guard can require how and when the user was authenticated, and sends the user to sign in again
 * (OpenID Connect Core 1.0 section 3.1.2.1; RFC 9470).
 */
import type { FastifyReply } from "fastify";
import { parseCookie } from "cookie";
import type { JWT } from "@auth/core/jwt";
import { signIn } from "../../actions/actions.ts";
import { type AuthInstance, authInstance } from "../../instance/auth_instance.ts";
import { cookieSettings } from "../../config/cookies.ts";
import type { NoticeCode } from "../../config/notices.ts";
import { removalOf, type SetCookie, toSetCookieLine } from "../../http/set_cookie.ts";
import { FastifyAuthError } from "../../errors.ts";
import { presentedToken, readClaims } from "../../instance/read_session.ts";
import type { GuardedReply } from "../../types.ts";
import { requireOrigin } from "../../http/origin.ts";
import { toList } from "../../guard/guard_options.ts";
import { ATTEMPT, signInClaims, signInOf } from "./sign_in_record.ts";
import { RequestReads } from "../../session/request_reads.ts";
import { returnPath, signInAddress } from "../../guard/sign_in_redirect.ts";
import type { Guarded, GuardRefusal } from "../../core/context.ts";

interface StepUp {
  /** Seconds. */
  readonly maxAge: number | undefined;
  /** One of these, if there are any. */
  readonly acr: readonly string[];
  /** All of these. */
  readonly amr: readonly string[];
}

/** Why a user was not authenticated as checked options require; `undefined` if that is so. */
export async function refusalOf(guarded: Guarded): Promise<GuardRefusal | undefined> {
  const { options } = guarded;
  const required = { maxAge: options.maxAge, acr: toList(options.acr), amr: toList(options.amr) };
  const claims = await claimsOf(guarded) ?? {};
  if (meets(claims, required, Date.now())) return;
  return {
    error: new FastifyAuthError("FST_AUTHJS_STEP_UP_REQUIRED", "Sign in again to use this route."),
    challenge: challengeOf(required),
    signIn: (reply) => startStepUp(required, claims, guarded, reply),
  };
}

/** The challenge for a client that shows no pages (RFC 9470 section 3). */
function challengeOf({ maxAge, acr }: StepUp): string {
  return [
    'error="insufficient_user_authentication"',
    ...(maxAge === undefined ? [] : [`max_age="${maxAge}"`]),
    ...(acr.length === 0 ? [] : [`acr_values="${acr.join(" ")}"`]),
  ].join(", ");
}

/**
 * How the user of the session signed in: claims of its token, or with a session in a database those of a
 * cookie.
 */
async function claimsOf({ request, config }: Guarded): Promise<JWT | null> {
  const { cookie, settings } = presentedToken(request, config)!;
  if (settings.strategy === "jwt") return await readClaims(request, config);
  // A bearer token is of a session of its own, which no cookie is signed with.
  return signInClaims(RequestReads.of(request).cookies(config) ?? "", cookie.token, settings) ?? null;
}

/** @param now Milliseconds since 1970. */
function meets({ auth_time, acr, amr }: JWT, required: StepUp, now: number): boolean {
  const { maxAge } = required;
  if (maxAge !== undefined && !(typeof auth_time === "number" && now / 1000 - auth_time <= maxAge)) {
    return false;
  }
  if (required.acr.length > 0 && !required.acr.includes(acr as string)) return false;
  const methods = toList(amr);
  return required.amr.every((method) => methods.includes(method));
}

/** How long a sign-in may take, in seconds. */
const ATTEMPT_SECONDS = 600;

/**
 * Sends the user to sign in again, if that can help. A cookie says for which requirement, so that the browser is not
 * sent to and fro without end. A forged one gets its user a refusal or another sign-in.
 *
 * @returns Whether the reply was sent; without this, the sign-in page is to be shown.
 * @throws {FastifyAuthError} `FST_AUTHJS_FORBIDDEN` if the user has just done so, and in vain.
 */
async function startStepUp(
  stepUp: StepUp,
  claims: JWT,
  { request, config }: Guarded,
  reply: GuardedReply,
): Promise<boolean> {
  const instance = authInstance(config);
  const { core, origin } = instance.config;
  const { name, options } = cookieSettings(ATTEMPT, core, requireOrigin(request, origin).secure);
  const setCookie = (cookie: SetCookie) => reply.header("set-cookie", toSetCookieLine(cookie));
  const requirement = JSON.stringify([stepUp.maxAge, stepUp.acr, stepUp.amr]);
  const held = parseCookie(request.headers.cookie ?? "")[name] ?? "";
  const [, at, begun] = /^(\d+) (.*)$/s.exec(held) ?? [];
  const record = signInOf(claims);
  const isTried = record !== undefined && begun === requirement && record.at >= Number(at);
  // What was met then and is not now has run out: the user signs in once more.
  if (isTried && !meets(claims, stepUp, record.at)) {
    setCookie(removalOf(name, options));
    const code: NoticeCode = "FST_AUTHJS_WARN_STEP_UP";
    const { provider } = record;
    instance.once(`step-up ${provider}`, () => request.log.warn({ code }, inVain(provider, claims)));
    throw new FastifyAuthError(
      "FST_AUTHJS_FORBIDDEN",
      "The sign-in is not of the kind that this route requires.",
    );
  }
  setCookie({
    name,
    value: `${Date.now()} ${requirement}`,
    options: { ...options, maxAge: ATTEMPT_SECONDS },
  });
  const provider = providerOf(record?.provider, instance);
  if (provider === undefined) return showWays(stepUp, { request, config }, reply);
  const callbackUrl = returnPath(request, config);
  const asked = { authorizationParams: parametersOf(stepUp), ...(callbackUrl !== undefined && { callbackUrl }) };
  await signIn({ config, instance }, request as never, reply as FastifyReply, provider, asked, true);
  return true;
}

/** Redirects to the built-in page with the ways to sign in that count, if there are some. */
function showWays(
  stepUp: StepUp,
  { request, config }: Pick<Guarded, "request" | "config">,
  reply: GuardedReply,
): boolean {
  const { core, providers } = authInstance(config).config;
  const ways = [...providers.values()].filter(({ type }) => core.callbacks?.jwt || counts(type, stepUp));
  if (core.pages?.signIn || ways.length === 0) return false;
  const asked = { ...parametersOf(stepUp), prompt: "login", ways: ways.map(({ id }) => id).join(" ") };
  const address = signInAddress(request, config, asked);
  if (address === undefined) return false;
  reply.redirect(address, 302);
  return true;
}

/** Whether a sign-in by a type of provider says what is required, without a `jwt` callback that does. */
function counts(type: string, { acr, amr }: StepUp): boolean {
  const isKindRequired = acr.length > 0 || amr.length > 0;
  return type === "oidc" || type === "credentials" || (type !== "oauth" && !isKindRequired);
}

function inVain(provider: string, { auth_time, acr, amr }: JWT): string {
  const claims = JSON.stringify({ auth_time, acr, amr });
  return `A user signed in again with "${provider}", and a guard with \`maxAge\`, \`acr\` or \`amr\` still refuses ` +
    `the session: its claims are ${claims}. The provider must put these claims into the ID token, or ` +
    "`callbacks.jwt` must set them.";
}

/** The parameters of the authorization request. There is none for `amr`: the user is to sign in actively. */
function parametersOf({ maxAge, acr, amr }: StepUp): Record<string, string> {
  return {
    ...(maxAge !== undefined && { max_age: String(maxAge) }),
    ...(acr.length > 0 && { acr_values: acr.join(" ") }),
    ...(amr.length > 0 && { prompt: "login" }),
  };
}

/** The provider to sign in with: that of the session, or the only one there is. */
function providerOf(id: string | undefined, { config }: AuthInstance): string | undefined {
  const all = [...config.providers.values()];
  const used = id === undefined ? (all.length === 1 ? all[0] : undefined) : config.providers.get(id);
  return used?.type === "oauth" || used?.type === "oidc" ? used.id : undefined;
}
