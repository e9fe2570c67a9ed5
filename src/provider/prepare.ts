/**
 * What becomes of a configured provider before core is given it.
 *
 * @module
 */
import type { Provider } from "@auth/core/providers";
import { type Environment, prepareEmailProvider } from "./email.ts";
import { limitRequests } from "./request_limits.ts";
import { keepClientKey } from "./client_key.ts";
import { completeFromUserinfo } from "./userinfo.ts";
import { prepareWebAuthnProvider } from "./webauthn/provider.ts";
import { applyWorkarounds } from "./workarounds.ts";

/** What the steps need to know besides the provider. */
export interface PrepareOptions {
  readonly env: Environment;
  /** Milliseconds for a request to the provider; 0 for no limit. */
  readonly timeout: number;
  /** Whether requests without TLS are refused. */
  readonly production: boolean;
}

type Step = (provider: Provider, options: PrepareOptions) => Provider;

/** The steps, in order: each is given what the one before made, and leaves providers of other types as they are. */
const STEPS: readonly (readonly [name: string, step: Step])[] = [
  // A challenge is answered once, and no request goes to an address that a client names.
  ["WebAuthn verification", prepareWebAuthnProvider],
  // Providers that fail as core ships them. Before the next two, which work on what they set.
  ["workarounds", applyWorkarounds],
  // ID tokens without the user's data. After the workarounds, which say where it would be in vain; before the bound, which
  // holds for what is asked here, too.
  ["userinfo", completeFromUserinfo],
  // Core's merging would leave nothing of a CryptoKey.
  ["client key", keepClientKey],
  // Every request is bounded in time and size. After the workarounds, which may send some.
  ["bounded requests", limitRequests],
  // Errors tell a person's mistake from a mail service that is down. Last, so that it sees the bound sender fail.
  ["e-mail errors", (provider, { env }) => prepareEmailProvider(provider, env)],
];

/**
 * Prepares a provider for core.
 *
 * @param provider A copy that is completed from the environment; it is not kept.
 * @param options The environment and the limits.
 */
export function prepareProvider(provider: Provider, options: PrepareOptions): Provider {
  return STEPS.reduce((prepared, [, step]) => step(prepared, options), provider);
}
