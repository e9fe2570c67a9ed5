/** Checks the secrets of the configuration. */
import type { AuthConfig } from "@auth/core";
import type { Environment } from "./environment.ts";
import { FastifyAuthError } from "../errors.ts";
import { isWrapped } from "../utils/wrapped.ts";

const MINIMUM_LENGTH = 32;

const HOW_TO_FIX =
  "Make one with `npx fastify-authjs secret` or `openssl rand -base64 33`, and set it as AUTH_SECRET (or `secret`).";

/** Checks `secret` and `jwt.secret`, rotated secrets included. */
export function secretProblem(core: AuthConfig, env: Environment): FastifyAuthError | undefined {
  const secrets = secretsOf(core);
  if (secrets.length === 0) {
    const old = env.NEXTAUTH_SECRET ? " NEXTAUTH_SECRET is not read: rename it." : "";
    return new FastifyAuthError("FST_AUTHJS_SECRET_MISSING", `There is no secret. ${HOW_TO_FIX}${old}`);
  }
  if (secrets.some((secret) => typeof secret !== "string" || secret.length < MINIMUM_LENGTH)) {
    return new FastifyAuthError(
      "FST_AUTHJS_SECRET_TOO_SHORT",
      `A secret must have at least ${MINIMUM_LENGTH} characters, and so must every rotated one. ` +
        HOW_TO_FIX,
    );
  }
}

/** Warnings of secrets that can be guessed, or are not what was meant. */
export function secretWarnings(core: AuthConfig): string[] {
  const secrets = secretsOf(core).filter((secret) => typeof secret === "string");
  const warnings: string[] = [];
  if (secrets.some((secret) => new Set(secret).size < FEWEST_CHARACTERS)) {
    warnings.push(`A secret repeats a few characters, so it can be guessed. ${HOW_TO_FIX}`);
  }
  if (secrets.some(isWrapped)) {
    warnings.push(
      "A secret begins and ends with a quotation mark, or with a space or the end of a line. Docker's `--env-file` " +
        "keeps quotation marks, and other programs remove them: then processes have different secrets, and do not " +
        "read each other's sessions. Write AUTH_SECRET without them.",
    );
  }
  return warnings;
}

/** A random text of 32 characters, hexadecimal digits too, has more different ones. */
const FEWEST_CHARACTERS = 8;

function secretsOf(core: AuthConfig): string[] {
  // Core uses `jwt.secret`, but its type lacks it.
  const { secret: tokenSecret } = (core.jwt ?? {}) as { secret?: string | string[] };
  return [core.secret, tokenSecret].flat().filter((secret) => secret !== undefined);
}
