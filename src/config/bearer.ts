/** The `bearer` option. */
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions } from "../types.ts";
import type { Lifetimes } from "./lifetime.ts";

/** How session tokens are accepted in `Authorization: Bearer`. */
export interface BearerSettings {
  /** How long an issued token lives, in seconds. */
  readonly maxAge: number;
}

/**
 * The settings of a configuration; `undefined` if no such tokens are accepted.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
 */
export function bearerSettings(
  bearer: FastifyAuthOptions["bearer"],
  { maxAge, tokenMaxAge }: Lifetimes,
): BearerSettings | undefined {
  if (bearer === undefined || bearer === false) return undefined;
  const longest = Math.min(maxAge, tokenMaxAge);
  if (bearer === true) return { maxAge: longest };
  if (typeof bearer !== "object" || bearer === null) {
    throw invalid("must be true, false or an object such as `{ maxAge: 3600 }`.");
  }
  const unknown = Object.keys(bearer).find((name) => name !== "maxAge");
  if (unknown !== undefined) throw invalid(`has no option \`${unknown}\`: write \`{ maxAge: 3600 }\`.`);
  const own: unknown = bearer.maxAge ?? longest;
  if (typeof own === "number" && own >= 1 && own <= longest) return { maxAge: Math.floor(own) };
  throw invalid(`has a \`maxAge\` that is no number of seconds from 1 to ${longest}, the life of a session.`);
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `\`bearer\` ${problem}`);
}
