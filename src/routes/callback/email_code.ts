/**
 * The code in a mail with a sign-in link: it signs in the browser that asked for the mail, as the link does any. Both
 * are in a cookie of that browser, sealed, so a right code is the link, which works once.
 */
import { SignInError } from "@auth/core/errors";
import { parseCookie } from "cookie";
import { Buffer } from "node:buffer";
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { type Answer, redirectAnswer } from "../../core/answer.ts";
import type { ProviderContext, RequestContext } from "../../core/context.ts";
import { errorPage } from "../../core/failure.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { removalOf } from "../../http/set_cookie.ts";
import type { CodeError } from "../../pages/page_error.ts";
import { CODE_SECONDS } from "../../provider/email_message.ts";
import { placeOf } from "../../store/sealed_value.ts";
import type { VerificationMailParams } from "../../types.ts";
import { foldName } from "../../utils/fold_name.ts";
import { LONGEST_VALUE } from "./attempts.ts";

interface Mailed {
  readonly code: string;
  /** The query of the link. */
  readonly link: string;
  readonly provider: string;
  /** In milliseconds since 1970. */
  readonly until: number;
}

const COOKIE = { name: "email-code" }, PURPOSE = "code of a mail";

/** The answer to a browser that asked for a mail with a code, which sets the cookie. */
export function keepCode(
  answer: Answer,
  { code, url, expires }: Required<Pick<VerificationMailParams, "code" | "url" | "expires">>,
  context: ProviderContext,
): Answer {
  const until = Math.min(Date.now() + CODE_SECONDS * 1000, expires.valueOf());
  const { searchParams: link } = new URL(url);
  const place = placeOf(context.config.hashSecrets.current, PURPOSE);
  const sealed = () => {
    const mailed: Mailed = { code, link: String(link), provider: context.provider.id, until };
    return place.seal(JSON.stringify(mailed));
  };
  let value = sealed();
  if (value.length > LONGEST_VALUE) {
    // It is in a cookie of its own.
    link.delete("callbackUrl");
    value = sealed();
  }
  const { name, options } = context.settings.ownCookie(COOKIE);
  const cookie = { name, value, options: { ...options, expires: new Date(until) } };
  return { ...answer, cookies: [...answer.cookies, cookie] };
}

export function mailWithCode(context: RequestContext): Mailed | undefined {
  const { hashSecrets: { current, others }, providers } = context.config;
  const sealed = parseCookie(context.cookies)[context.settings.ownCookie(COOKIE).name];
  if (sealed === undefined) return undefined;
  const texts = [current, ...others].map((secret) => placeOf(secret, PURPOSE).open(sealed));
  const mailed = JSON.parse(texts.find((text) => text !== undefined) ?? "null") as Mailed | null;
  return mailed && mailed.until > Date.now() && providers.has(mailed.provider) ? mailed : undefined;
}

export function forgetCode(answer: Answer, context: ProviderContext): Answer {
  const { name, options } = context.settings.ownCookie(COOKIE);
  if (answer.error !== undefined || parseCookie(context.cookies)[name] === undefined) return answer;
  return { ...answer, cookies: [...answer.cookies, removalOf(name, options)] };
}

export function codeIn({ provider, method, query, body }: RequestContext): string | undefined {
  if (provider?.type !== "email" || method !== "POST" || typeof body?.code !== "string") return undefined;
  return body.token === undefined && !new URLSearchParams(query).has("token") ? body.code : undefined;
}

const MESSAGES: Readonly<Record<CodeError, string>> = {
  EmailCodeWrong: "That is not the code of the mail that this browser asked for last",
  EmailCodeSpent: "There were too many wrong codes. The link in the mail still signs in",
  EmailCodeExpired:
    "This browser asked for no mail in the last ten minutes, or its cookie was not sent: use the link in the " +
    "mail, or ask for another one",
};

/** Answers a code: a right one by `signIn`. A wrong one leads back to the page that takes it. */
export async function answerCode(
  typed: string,
  context: ProviderContext,
  signIn: (link: URLSearchParams) => Promise<Answer>,
): Promise<Answer> {
  const { provider: { id } } = context;
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  const refusal = (type: CodeError) => ({
    ...redirectAnswer(errorPage("verifyRequest", { provider: id, type: "email", error: type }, context)),
    error: Object.assign(new SignInError(MESSAGES[type]), { type, told: { message: `${MESSAGES[type]}.` } }),
  });
  const mailed = mailWithCode(context);
  if (mailed?.provider !== id) return refusal("EmailCodeExpired");
  // Digits of any script, and without spaces.
  const code = foldName(typed);
  if (!/^\d{6}$/.test(code)) return refusal("EmailCodeWrong");
  const link = new URLSearchParams(mailed.link);
  const guess = await countGuess(link, context);
  if (guess === undefined) return refusal("EmailCodeSpent");
  if (!timingSafeEqual(Buffer.from(code), Buffer.from(mailed.code))) {
    return refusal(guess.isLast ? "EmailCodeSpent" : "EmailCodeWrong");
  }
  await guess.giveBack();
  return await signIn(link);
}

/**
 * Counts a guess before it is compared, so that no more than allowed are compared, however many run at once: in the
 * `store`, whose failure refuses codes, or by this process alone. `undefined` if they are used up.
 */
async function countGuess(link: URLSearchParams, { auth, config: { hashSecrets } }: RequestContext) {
  const { anyStore: store } = auth;
  // So no address or token is in the store.
  const keyOf = (...what: string[]) =>
    createHmac("sha256", hashSecrets.current).update(JSON.stringify(what)).digest("base64url");
  const limits = [
    // At one mail.
    { key: keyOf("guesses of a mail", link.get("token")!), most: 5, time: CODE_SECONDS * 1000 },
    // In a day at those to one recipient.
    { key: keyOf("guesses of a recipient", foldName(link.get("email")!)), most: 20, time: 24 * 3600 * 1000 },
  ];
  const lowestLeft = async () => {
    const left = limits.map(async ({ key, most }) => most - (await store.call("members", key)).length);
    return Math.min(...await Promise.all(left));
  };
  const guess = randomUUID();
  const giveBack = () => Promise.all(limits.map(({ key }) => store.call("remove", key, guess)));
  if (await lowestLeft() <= 0) return undefined;
  await Promise.all(limits.map(({ key, time }) => store.call("add", key, guess, time)));
  // Of those that are added at once, the last one that looks sees all of them.
  const left = await lowestLeft();
  if (left >= 0) return { isLast: left === 0, giveBack };
  await giveBack();
  return undefined;
}
