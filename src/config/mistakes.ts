/** What is wrong with settings, or doubtful: a table of the kernel, one of its providers, one a feature. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { SigningKeys } from "../provider/signing_keys.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import type { FastifyAuthConfig } from "../types.ts";
import type { Environment } from "./environment.ts";
import type { Notices } from "./notices.ts";
import type { AllowedOrigins } from "./redirect_proxy.ts";

export interface Facts {
  /** As the application wrote it. */
  readonly config: FastifyAuthConfig;
  /** With the defaults of the environment. */
  readonly core: AuthConfig;
  readonly env: Environment;
  readonly production: boolean;
  readonly providers: readonly ProviderSummary[];
  /** The ids of those that may be reached without TLS in production. */
  readonly insecure: readonly string[];
  /** The configured origin, and what sets it. */
  readonly origin: PublicOrigin | undefined;
  readonly originSource: { readonly setting?: string };
  readonly redirectProxyOrigins: AllowedOrigins;
  /** The keys that OpenID Providers publish, loaded with the first token that is verified. */
  readonly signingKeys: () => Promise<SigningKeys>;
  /** Takes the warnings that come up after boot. */
  readonly notices: Notices;
}

/** A condition with the messages that it has. */
export type Messages = (facts: Facts) => string | readonly string[] | false | undefined;

export type Mistake<Code> = readonly [Code, Messages];

/** @throws {FastifyAuthError} The first of the problems that there is. */
export function requireNone(problems: readonly Mistake<FastifyAuthErrorCode>[], facts: Facts): void {
  const [problem] = mistakesIn(problems, facts);
  if (problem !== undefined) throw new FastifyAuthError(problem.code, problem.message);
}

/** The mistakes of a table that there are. */
export function* mistakesIn<Code>(mistakes: readonly Mistake<Code>[], facts: Facts) {
  for (const [code, messages] of mistakes) {
    for (const message of [messages(facts) || []].flat()) yield { code, message };
  }
}

/** Warnings of times in milliseconds, by name, that are less than the least that each can mean. */
export function timeWarnings(times: readonly (readonly [string, number | undefined, number])[]): string[] {
  return times
    .filter(([, value, least]) => typeof value === "number" && value > 0 && value < least)
    .map(([name, value]) =>
      `\`${name}\` is ${value} milliseconds. If seconds are meant, write ${value! * 1000}.`
    );
}
