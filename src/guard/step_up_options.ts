/** What a guard requires of the sign-in: the options, and the challenge. */
import { invalid } from "../instance/arguments.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { type RequireSessionOptions, toList } from "./guard_options.ts";

/** What a guard requires of the authentication. */
export interface StepUp {
  /** Seconds. */
  readonly maxAge: number | undefined;
  /** One of these, if there are any. */
  readonly acr: readonly string[];
  /** All of these. */
  readonly amr: readonly string[];
}

/** Whether options may have a user sign in again. */
export function requiresStepUp(options: RequireSessionOptions): boolean {
  return ["maxAge", "acr", "amr"].some((name) => name in options);
}

/**
 * What checked options require.
 *
 * @param where What they belong to, for the error.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if the configuration does not record sign-ins.
 */
export function stepUpOf(
  options: RequireSessionOptions,
  config: FastifyAuthConfig,
  where: string,
): StepUp | undefined {
  const { maxAge } = options;
  const acr = toList(options.acr), amr = toList(options.amr);
  if (maxAge === undefined && acr.length === 0 && amr.length === 0) return undefined;
  if (config.stepUp === true) return { maxAge, acr, amr };
  throw invalid(
    where,
    "`maxAge`, `acr` and `amr` need `stepUp: true` in the configuration, by which it is kept how and when users " +
      "signed in.",
  );
}

/** The challenge for a client that shows no pages (RFC 9470 section 3). */
export function stepUpChallenge({ maxAge, acr }: StepUp, scheme: string): string {
  return [
    `${scheme} error="insufficient_user_authentication"`,
    ...(maxAge === undefined ? [] : [`max_age="${maxAge}"`]),
    ...(acr.length === 0 ? [] : [`acr_values="${acr.join(" ")}"`]),
  ].join(", ");
}
