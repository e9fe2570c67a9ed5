/**
 * Step-up: a guard can require how and when the user was authenticated, and sends the user to sign in again (OpenID
 * Connect Core 1.0 section 3.1.2.1; RFC 9470).
 */
import type { FastifyReply } from "fastify";
import { parseCookie } from "cookie";
import type { JWT } from "@auth/core/jwt";
import { signIn } from "../../actions/actions.ts";
import type { NoticeCode } from "../../config/notices.ts";
import { FastifyAuthError } from "../../errors.ts";
import { toList } from "../../guard/guard_options.ts";
import { returnPath, signInAddress } from "../../guard/sign_in_redirect.ts";
import { removalOf, type SetCookie, toSetCookieLine } from "../../http/set_cookie.ts";
import { authInstance } from "../../instance/auth_instance.ts";
import { presentedToken, readClaims } from "../../instance/read_session.ts";
import { RequestReads } from "../../session/request_reads.ts";
import type { GuardedReply } from "../../types.ts";
import type { Guarded, GuardRefusal } from "../feature.ts";
import { ATTEMPT, CLAIM, signInClaims, type SignInRecord } from "./sign_in_record.ts";

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
  const { options: { maxAge, ...options }, request, config } = guarded;
  const required = { maxAge, acr: toList(options.acr), amr: toList(options.amr) };
  const { cookie, settings } = presentedToken(request, config)!;
  // How the user signed in: claims of the token, or with a session in a database those of a cookie. A bearer token is
  // of a session of its own, which no cookie is signed with.
  const claims = settings.strategy === "jwt"
    ? await readClaims(request, config)
    : signInClaims(RequestReads.of(request).cookies(config) ?? "", cookie.token, settings);
  if (meets(claims ?? {}, required, Date.now())) return;
  // The challenge for a client that shows no pages (RFC 9470 section 3).
  const challenge = [
    'error="insufficient_user_authentication"',
    ...(maxAge === undefined ? [] : [`max_age="${maxAge}"`]),
    ...(required.acr.length === 0 ? [] : [`acr_values="${required.acr.join(" ")}"`]),
  ].join(", ");
  return {
    error: new FastifyAuthError("FST_AUTHJS_STEP_UP_REQUIRED", "Sign in again to use this route."),
    challenge,
    signIn: (reply) => startStepUp(required, claims ?? {}, guarded, reply),
  };
}

/** By how many seconds the clock of a provider may be ahead. Later times are in milliseconds, or of a wrong clock. */
const AHEAD = 24 * 60 * 60;

/** @param now Milliseconds since 1970. */
function meets({ auth_time, acr, amr }: JWT, required: StepUp, now: number): boolean {
  const { maxAge } = required;
  const age = typeof auth_time === "number" ? now / 1000 - auth_time : NaN;
  if (maxAge !== undefined && !(age <= maxAge && age >= -AHEAD)) return false;
  if (required.acr.length > 0 && !required.acr.includes(acr as string)) return false;
  const methods = toList(amr);
  return required.amr.every((method) => methods.includes(method));
}

/** How long a sign-in may take, in seconds. */
const ATTEMPT_SECONDS = 600;

/**
 * Sends the user to sign in again, if that can help. A cookie says for which requirement, so that the browser is not
 * sent to and fro without end. A forged one gets its user a refusal or another sign-in.
 * @returns Whether the reply was sent; without this, the sign-in page is to be shown.
 * @throws {FastifyAuthError} `FST_AUTHJS_FORBIDDEN` if the user has just done so, and in vain.
 */
async function startStepUp(stepUp: StepUp, claims: JWT, { request, config }: Guarded, reply: GuardedReply) {
  const instance = authInstance(config);
  const { core, providers } = instance.config;
  const { name, options } = presentedToken(request, config)!.settings.ownCookie(ATTEMPT);
  const setCookie = (cookie: SetCookie) => reply.header("set-cookie", toSetCookieLine(cookie));
  const requirement = JSON.stringify([stepUp.maxAge, stepUp.acr, stepUp.amr]);
  const held = parseCookie(request.headers.cookie ?? "")[name] ?? "";
  const [, at, begun] = /^(\d+) (.*)$/s.exec(held) ?? [];
  const record = claims[CLAIM] as SignInRecord | undefined;
  const isTried = record !== undefined && begun === requirement && record.at >= Number(at);
  // What was met then and is not now has run out: the user signs in once more.
  if (isTried && !meets(claims, stepUp, record.at)) {
    setCookie(removalOf(name, options));
    const code: NoticeCode = "FST_AUTHJS_WARN_STEP_UP";
    const { provider } = record;
    instance.once(`step-up ${provider}`, () => request.log.warn({ code }, inVain(provider, claims)));
    throw new FastifyAuthError("FST_AUTHJS_FORBIDDEN", "The sign-in is not of the kind that this route requires.");
  }
  setCookie({ name, value: `${Date.now()} ${requirement}`, options: { ...options, maxAge: ATTEMPT_SECONDS } });
  // That of the session, or the only one there is.
  const all = [...providers.values()];
  const used = record === undefined ? (all.length === 1 ? all[0] : undefined) : providers.get(record.provider);
  if (used?.type !== "oauth" && used?.type !== "oidc") {
    // The built-in page, with the ways to sign in that count, if there are some.
    const ways = all.filter(({ type }) => core.callbacks?.jwt || counts(type, stepUp)).map(({ id }) => id);
    if (core.pages?.signIn || ways.length === 0) return false;
    const asked = { ...parametersOf(stepUp), prompt: "login", ways: ways.join(" ") };
    const address = signInAddress(request, config, asked);
    if (address === undefined) return false;
    reply.redirect(address, 302);
    return true;
  }
  const callbackUrl = returnPath(request, config);
  const asked = { authorizationParams: parametersOf(stepUp), ...(callbackUrl !== undefined && { callbackUrl }) };
  await signIn({ config, instance, byGuard: true }, request as never, reply as FastifyReply, used.id, asked);
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
