/** Sign-outs that also end the session at the OpenID Provider (OpenID Connect RP-Initiated Logout 1.0). */
import { InvalidCheck } from "@auth/core/errors";
import { parseCookie } from "cookie";
import { isFilled, isText } from "../../config/rules.ts";
import type { AccountListAdapter } from "../../adapter/added_methods.ts";
import { type Answer, redirectAnswer } from "../../core/answer.ts";
import { removalOf } from "../../http/set_cookie.ts";
import type { RequestContext } from "../../core/context.ts";
import { openIdMetadata, toOpenIdClient } from "../../provider/openid_client.ts";
import { openToken } from "../../session/open.ts";
import { providerOfToken, type ProviderSession, providerSessionOf } from "./provider_session.ts";
import { placeOf } from "../../store/sealed_value.ts";
import { parseJsonObject } from "../../utils/decode.ts";
import { isOpenIdProvider } from "../../provider/summary.ts";

/** How long the browser may stay at the provider, in seconds. */
const MAX_AGE = 900;

const COOKIE = { name: "signed-out" };

/** What separates the key of the cookie from others. */
const PURPOSE = "sign-out at a provider";

/**
 * Finds the session at the provider that the session of the request was made from, before that one ends here.
 * @returns What has the answer to the sign-out lead to the provider.
 */
export async function beginProviderSignOut(context: RequestContext, keepsIdTokens: boolean) {
  const { config: { providers }, settings, logger } = context;
  const { token } = context.held;
  if (token === "") return undefined;
  const found = settings.strategy === "jwt"
    ? await openToken(token, settings).then(({ claims }) => providerSessionOf(claims), () => undefined)
    : await sessionOfRow(token, keepsIdTokens, context).catch((error) => void logger.error(error));
  const provider = providers.get(found?.provider ?? "");
  if (provider === undefined || !isOpenIdProvider(provider)) return undefined;
  return async (answer: Answer) => await endAtProvider(found!, keepsIdTokens, answer, context);
}

/** The provider is named by the session token, and the account has an ID token. */
async function sessionOfRow(token: string, keepsIdTokens: boolean, { settings: { adapter }, config }: RequestContext) {
  const provider = providerOfToken(token, config.providers.keys());
  if (provider === undefined) return undefined;
  const { listAccountsByUserId: list } = adapter as Partial<AccountListAdapter>;
  const found = list && keepsIdTokens ? await adapter!.getSessionAndUser!(token) : undefined;
  const accounts = found ? await list!(String(found.user.id)) : [];
  const account = accounts.find((each) => each.provider === provider);
  const idToken = (account as { id_token?: unknown } | undefined)?.id_token;
  return { provider, ...(isFilled(idToken) && { idToken }) };
}

/** Leads an answer that has ended the session here to the provider, unless that cannot be asked. */
async function endAtProvider(
  { provider, idToken }: ProviderSession,
  keepsIdTokens: boolean,
  answer: Answer,
  context: RequestContext,
): Promise<Answer> {
  const { config, settings, origin, mountPath, logger } = context;
  const { redirect } = answer;
  if (answer.error !== undefined || redirect === undefined) return answer;
  const needsTls = !config.allowsPlainHttp(provider);
  const client = toOpenIdClient(config.coreProviders.get(provider)!);
  const metadata = await openIdMetadata(client).catch((error) => void logger.error(error));
  if (metadata === undefined) return answer;
  const endpoint = String(metadata.end_session_endpoint);
  const url = new URL(URL.canParse(endpoint) ? endpoint : "none:");
  if (url.protocol !== "https:" && (url.protocol !== "http:" || needsTls)) {
    const problem = `publishes no end_session_endpoint${needsTls ? " over https" : ""}`;
    logger.warnOnce(
      `no sign-out at ${provider}`,
      `the provider "${provider}" ${problem}, so a sign-out ends only the session here.`,
      "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT",
    );
    return answer;
  }
  if (idToken !== undefined) url.searchParams.set("id_token_hint", idToken);
  else if (keepsIdTokens) {
    const why = settings.strategy === "jwt"
      ? "the session has none, such as one from before `providerLogout` was set"
      : "the account has none, or the adapter has no listAccountsByUserId(): add it with `withAccountList()`";
    logger.warnOnce(
      `no ID token of ${provider}`,
      `a sign-out at "${provider}" is sent without an ID token (\`id_token_hint\`), and the provider may ask the ` +
        `user whether to sign out: ${why}.`,
      "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT",
    );
  }
  const state = crypto.randomUUID();
  url.searchParams.set("client_id", client.clientId);
  url.searchParams.set("post_logout_redirect_uri", `${origin.href}${mountPath}/signed-out`);
  url.searchParams.set("state", state);
  const { name, options } = context.settings.ownCookie(COOKIE);
  const value = placeOf(config.hashSecrets.current, PURPOSE).seal(JSON.stringify({ state, redirect }));
  const cookie = { name, value, options: { ...options, maxAge: MAX_AGE } };
  return { ...answer, redirect: url.href, cookies: [...answer.cookies, cookie] };
}

/** Answers the return from the provider: leads to where the sign-out was to lead. */
export function handleSignedOut(context: RequestContext): Answer {
  const { query, origin, cookies, logger, config: { hashSecrets: { current, others } } } = context;
  const { name, options } = context.settings.ownCookie(COOKIE);
  const held = parseCookie(cookies)[name];
  const state = new URLSearchParams(query).get("state");
  const opened = [current, ...others].map((secret) => placeOf(secret, PURPOSE).open(held)).find(isText);
  const sent = opened && parseJsonObject(opened) as { state: string; redirect: string } | undefined;
  const isReturn = sent && sent.state === state;
  if (!isReturn && (held !== undefined || state !== null)) {
    const problem = "A return from a sign-out at a provider came with the state of another one, or without.";
    logger.error(new InvalidCheck(problem));
  }
  const answer = redirectAnswer(isReturn ? sent.redirect : origin.href);
  return held === undefined ? answer : { ...answer, cookies: [removalOf(name, options)] };
}
