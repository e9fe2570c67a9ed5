/**
 * The callback of an OAuth or OpenID Connect provider. An invalid one is refused before any request to the provider.
 */
import { customFetch } from "@auth/core";
import { InvalidCheck, OAuthCallbackError } from "@auth/core/errors";
import { isRedirectProxy } from "../../config/redirect_proxy.ts";
import { type Answer, redirectAnswer } from "../../core/answer.ts";
import { callCore, type CoreCall } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { errorAnswer, type Failure } from "../../core/failure.ts";
import { decode } from "../../jwt/jwe.ts";
import type { FailureCode } from "../../pages/page_error.ts";
import type { Fetch } from "../../provider/fetch.ts";
import type { ProviderError } from "../../provider/provider_error.ts";
import { errorIn, ProviderUnavailable, toLoggable, toLogText } from "../../provider/provider_error.ts";
import type { ProviderServer } from "../../provider/summary.ts";
import type { Attempt } from "./attempts.ts";
import { contextOf, dropAttempt, findAttempt, isOver, linkedUser, newestAttempt, noAttempt } from "./attempts.ts";
import { leadOn } from "../failed_form.ts";

/** Answers the callback. The attempt that its `state` leads to is used up, whatever comes of it. */
export async function handleOAuthCallback(received: ProviderContext): Promise<Answer> {
  const state = stateOf(received);
  const isChecked = received.provider.checks.includes("state");
  // Some servers do not send back what they were not to check.
  const newest = () => isChecked ? undefined : newestAttempt(received);
  const attempt = state === undefined ? newest() : findAttempt(received, state);
  if (attempt === undefined) return await leadOn(await answerCallback(received, undefined, {}), received);
  const context = contextOf(attempt, received);
  const finish = (call: CoreCall) => answerCallback(context, attempt, call);
  const { linkTo, byScript } = attempt;
  // Without its `state` another browser may have begun it.
  const signedIn = state === undefined || linkTo !== undefined ? undefined : await linkedUser(attempt, context);
  const answer = linkTo === undefined
    ? await leadOn(await finish({ signedIn }), context)
    : await context.auth.hooks.find(({ onLink }) => onLink !== undefined)!.onLink!(context, linkTo, finish);
  if (state === undefined && answer.error !== undefined) return answer;
  return dropAttempt({ byScript, ...answer }, attempt, context);
}

/** Answers the callback of an attempt; of none, if its `state` leads to none. */
async function answerCallback(received: ProviderContext, attempt: Attempt | undefined, call: CoreCall) {
  const { provider: { id, checks, server } } = received;
  const parameters = parametersOf(received);
  // In the query or in a form, since a provider that cannot read the request does not know which of the two was
  // requested (RFC 6749 section 4.1.2.1).
  const sent = { ...queryOf(received), ...received.body };
  const said: ProviderError = { provider: id, ...toLoggable(errorIn(sent), Object.entries(sent)) };
  const hasError = (said.error ?? said.error_description) !== undefined;
  try {
    const elsewhere = await deploymentOf(parameters, said, received);
    if (elsewhere !== undefined) return redirectAnswer(elsewhere);
    const state = checks.includes("state") ? stateOf(received) : undefined;
    const context = state === undefined ? withoutState(received) : received;
    // In core's order.
    const check = missingCheck(context, attempt);
    if (check !== undefined) throw Object.assign(refusal(noAttempt(check, context), said), { told: SIGN_IN_EXPIRED });
    if (!parameters.code && !parameters.error && !hasError) {
      throw refusal(`The callback of "${id}" came without an authorization code.`, said);
    }
    const { iss } = parameters;
    // Without a configured one, core would compare it with a placeholder.
    const issuer = server.issuer === undefined && typeof iss === "string" && iss ? iss : undefined;
    if (issuer !== undefined && !await isIssuerOf(issuer, context)) {
      throw refusal(unknownIssuer(id, "callback", issuer), said);
    }
    const { pkce, nonce } = attempt ?? {};
    const answer = await callCore(context, {
      ...call,
      // Last, so that nothing else takes their place.
      settings: issuer === undefined ? {} : { issuer },
      checks: { state, pkce, nonce },
    });
    const { error } = answer;
    if (error === undefined) return answer;
    // Core's errors do not contain what the provider sent.
    if (error instanceof OAuthCallbackError) error.cause ??= { ...said };
    else if (!parameters.code && hasError) {
      throw new OAuthCallbackError("OAuth Provider returned an error", { cause: said });
    }
    const mismatch = issuerProblem(error, context);
    if (mismatch !== undefined) throw refusal(mismatch, said);
    return answer;
  } catch (error) {
    return errorAnswer(error, received);
  }
}

/** The callback is of no sign-in under way in this browser. To core that is a mistake in the configuration. */
const SIGN_IN_EXPIRED: Partial<Failure> = { status: 401, code: "sign_in_expired" satisfies FailureCode };

function refusal(problem: string, said: ProviderError): InvalidCheck {
  const text = [said.error, said.error_description].filter(Boolean).join(", ");
  return new InvalidCheck(text ? `${problem} It says: ${text}` : problem, { cause: said });
}

/** The callback as core gets it, if the `state` is the name of an attempt and no check. */
function withoutState(context: ProviderContext): ProviderContext {
  const query = new URLSearchParams(context.query);
  query.delete("state");
  const { state: _, ...body } = context.body ?? {};
  return { ...context, query: query.toString(), body: context.body && body };
}

/** What core seals the `state` of an authorization request for (0.41.3). */
const STATE_SALT = "encodedState";

/**
 * The address of the deployment that the callback is for, if this one only takes it (`redirectProxyUrl`). Core would
 * redirect with the code to any address there, and one that follows the Host header puts into it what a client says.
 */
async function deploymentOf(
  parameters: Parameters,
  said: ProviderError,
  { provider, origin, config, settings }: ProviderContext,
): Promise<string | undefined> {
  const { state } = parameters;
  if (!isRedirectProxy(provider, origin) || typeof state !== "string") return undefined;
  const { secret } = settings.jwt;
  const opened = await decode({ token: state, secret, salt: STATE_SALT }).catch(() => null);
  if (!opened) throw refusal(`The callback of "${provider.id}" has a \`state\` that is none of ours.`, said);
  const { origin: address } = opened;
  if (typeof address !== "string" || !URL.canParse(address)) return undefined;
  const target = new URL(address);
  // deno-coverage-ignore It was begun before this deployment took the callbacks of others
  if (target.origin === origin.href) return undefined;
  if (!config.redirectProxyOrigins.has(address)) {
    throw refusal(
      `The callback of "${provider.id}" is for a deployment at ${toLogText(target.origin)}, which is not ` +
        "in `redirectProxyOrigins`, so it does not get the code.",
      said,
    );
  }
  target.search = new URLSearchParams(parameters as Record<string, string>).toString();
  return target.href;
}

type Parameters = Readonly<Record<string, unknown>>;

function parametersOf(context: ProviderContext): Parameters {
  return context.provider.formPost ? context.body ?? {} : queryOf(context);
}

function queryOf({ query }: ProviderContext): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

function stateOf(context: ProviderContext): string | undefined {
  const { state } = parametersOf(context);
  return typeof state === "string" ? state : undefined;
}

function missingCheck({ provider: { id, checks } }: ProviderContext, attempt?: Attempt): string | undefined {
  if (attempt !== undefined && (attempt.provider !== id || isOver(attempt))) return "state";
  const kept = { state: attempt?.digest, ...attempt };
  return (["state", "pkce", "nonce"] as const).find((each) => checks.includes(each) && kept[each] === undefined);
}

interface IssuerMismatch {
  readonly expected?: unknown;
  readonly claim?: string;
  readonly claims?: { readonly iss?: unknown };
  readonly parameters?: URLSearchParams;
}

/** The problem, if an error of core's is about an unexpected issuer (RFC 9207, OpenID Connect Core section 3.1.3.7). */
function issuerProblem({ cause }: Error, { provider: { id, server } }: ProviderContext): string | undefined {
  const { err } = (cause ?? {}) as { err?: Error & { code?: string } };
  const { expected, claim, claims, parameters } = (err?.cause ?? {}) as IssuerMismatch;
  if (err?.code === "OAUTH_JWT_CLAIM_COMPARISON_FAILED" && claim === "iss" && server.issuer === undefined) {
    return unknownIssuer(id, "ID token", claims?.iss);
  }
  if (err?.code !== "OAUTH_INVALID_RESPONSE") return undefined;
  if (/^response parameter "iss" \(issuer\) missing/.test(err.message)) {
    return `The callback of "${id}" names no issuer, which its metadata promise (RFC 9207).`;
  }
  if (!/^unexpected "iss"/.test(err.message)) return undefined;
  return `The callback of "${id}" names the issuer ${quote(parameters?.get("iss"))} (RFC 9207), and ` +
    `${quote(expected)} is expected: the two have to be the same to the letter.`;
}

function unknownIssuer(id: string, what: string, iss: unknown): string {
  const issuer = quote(iss);
  return `The ${what} of "${id}" names the issuer ${issuer}, and none is configured to compare it with. If ` +
    `it is the provider's own, set \`issuer: ${issuer}\`.`;
}

function quote(issuer: unknown): string {
  return JSON.stringify(toLogText(issuer) ?? null);
}

/**
 * Whether an issuer is the configured provider, by the metadata it publishes: either the document at `wellKnown` names
 * this issuer, or the issuer's own document, on the host of the token endpoint, names the configured endpoints. The
 * issuer of another server, as in a mix-up attack, fails.
 */
async function isIssuerOf(iss: string, { provider: { id, server }, config }: ProviderContext): Promise<boolean> {
  const { [customFetch]: send } = config.coreProviders.get(id) as unknown as { [customFetch]: Fetch };
  const { wellKnown, authorization, token } = server;
  if (wellKnown !== undefined) return (await fetchMetadata(wellKnown, send))?.issuer === iss;
  for (const url of metadataUrls(iss, server)) {
    const metadata = await fetchMetadata(url, send);
    if (metadata?.issuer !== iss) continue;
    return isSameAddress(metadata.authorization_endpoint, authorization) &&
      isSameAddress(metadata.token_endpoint, token);
  }
  return false;
}

/** The addresses of an issuer's documents; none if it is not on the host of the token endpoint. */
function metadataUrls(iss: string, { token = "" }: ProviderServer): string[] {
  if (!URL.canParse(iss) || !URL.canParse(token)) return [];
  const { origin, pathname, search, hash } = new URL(iss);
  if (origin !== new URL(token).origin || search || hash) return [];
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

async function fetchMetadata(url: string, send: Fetch): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await send(url, { headers: { accept: "application/json" }, redirect: "manual" });
    return await response.json() ?? undefined;
  } catch (error) {
    // Some servers have a page at every address: then the metadata are not at this one. Otherwise the caller refuses
    // the response, and logs what to configure.
    const { status } = (error as { cause?: { status?: number } }).cause ?? {};
    if (error instanceof ProviderUnavailable && status !== 200) throw error;
    return undefined;
  }
}

/** Without the query, which may have parameters of the application. */
function isSameAddress(published: unknown, configured = ""): boolean {
  // deno-coverage-ignore A server that is asked here publishes both, and both are configured
  if (typeof published !== "string" || !URL.canParse(published) || !URL.canParse(configured)) return false;
  const [a, b] = [new URL(published), new URL(configured)];
  return a.origin === b.origin && a.pathname === b.pathname;
}
