/** Prepares a configured provider for core, in steps. */
import type { Provider } from "@auth/core/providers";
import { type Environment, prepareEmailProvider } from "./email.ts";
import { type MailSettings, writeEmails } from "./email_message.ts";
import { limitRequests } from "./request_limits.ts";
import { applyOptions } from "./settings.ts";
import { completeFromUserinfo } from "./userinfo.ts";
import { type IdTokenVerification, verifyIdTokens } from "./verify_id_tokens.ts";
import { prepareWebAuthnProvider } from "./webauthn/provider.ts";
import { applyWorkarounds, withoutRepeatedPath } from "./workarounds.ts";

export interface PrepareOptions {
  readonly env: Environment;
  readonly timeout: number;
  readonly production: boolean;
  readonly insecure: readonly string[];
  readonly mail: MailSettings;
  /** How ID tokens are verified; `undefined` if they are not (`verifyIdTokens`). */
  readonly idTokens: IdTokenVerification | undefined;
}

type Step = (provider: Provider, options: PrepareOptions) => Provider;

/**
 * The steps in order. Each gets the result of the one before, and leaves providers of other types as they
 * are.
 */
const STEPS: readonly (readonly [name: string, step: Step])[] = [
  // Against replay, and against requests to an address that the client chose.
  ["WebAuthn verification", prepareWebAuthnProvider],
  // Before whatever reads the discovery document.
  ["discovery address", withoutRepeatedPath],
  // Before the next two steps, which work on what the workarounds set.
  ["workarounds", applyWorkarounds],
  // The steps before it replace what core's factory set, those after it what counts in the end.
  ["options", applyOptions],
  // Before the limits, which apply to these requests, too.
  ["userinfo", completeFromUserinfo],
  // Before the limits, which wrap the function that sends.
  ["e-mail texts", (provider, { mail }) => writeEmails(provider, mail)],
  // After the workarounds, which may send requests.
  ["request limits", limitRequests],
  // After the limits, which apply to the requests for keys, and after whatever corrects a response.
  ["ID token signatures", (provider, options) => verifyIdTokens(provider, options.idTokens, options)],
  // Last, so that it sees a sender's timeout.
  ["e-mail errors", (provider, { env }) => prepareEmailProvider(provider, env)],
];

/** @param provider A copy, completed from the environment. */
export function prepareProvider(provider: Provider, options: PrepareOptions): Provider {
  return STEPS.reduce((prepared, [, step]) => step(prepared, options), provider);
}
