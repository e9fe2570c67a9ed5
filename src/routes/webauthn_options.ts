/**
 * `GET <prefix>/webauthn-options/:provider`: the options of a WebAuthn ceremony, for a script: errors are
 * JSON.
 */
import { type Answer, jsonAnswer } from "../core/answer.ts";
import { callCore } from "../core/call.ts";
import type { ProviderContext } from "../core/context.ts";
import { normalizeAddress } from "../provider/email.ts";
import { FastifyAuthError } from "../errors.ts";
import { keepChallenge } from "./callback/attempts.ts";
import { signedInUser } from "./callback/started_by.ts";
import { readSignedIn, withoutEndedSession } from "./session_change.ts";

/** Answers with the options. */
export async function handleWebAuthnOptions(received: ProviderContext): Promise<Answer> {
  const context = await withoutEndedSession(received);
  const parameters = new URLSearchParams(context.query);
  if (!normalizeEmail(parameters)) return refuse("That is no e-mail address.");
  const signedIn = await readSignedIn(context);
  const answer = await callCore({ ...context, query: parameters.toString() }, { signedIn });
  const { error } = answer;
  if (error instanceof FastifyAuthError) return answer;
  if (error === undefined) {
    const kept = keepChallenge(answer, context, { startedBy: await signedInUser(context) });
    // A page requests options and its CSRF token at the same time. If both answers set a CSRF cookie in a new
    // browser, the cookie it keeps may not belong to its token.
    return { ...kept, cookies: kept.cookies.filter((cookie) => !answer.cookies.includes(cookie)) };
  }
  return signedIn !== undefined && typeof signedIn.email !== "string" &&
      parameters.get("action") === "register"
    ? refuse("A passkey is registered under an e-mail address, and this user has none.")
    : { ...jsonAnswer({ error: "Configuration" }, 500), error };
}

function refuse(error: string): Answer {
  return jsonAnswer({ error }, 400);
}

/**
 * As for sign-in links: "Ada@…" and "ada@…" are one user. Returns false if it is not an e-mail address.
 */
function normalizeEmail(parameters: URLSearchParams): boolean {
  const typed = parameters.get("email");
  if (!typed) return true;
  const address = normalizeAddress(typed);
  if (address !== undefined) parameters.set("email", address);
  return address !== undefined;
}
