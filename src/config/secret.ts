/** Checks the secrets of the configuration. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";

const MINIMUM_LENGTH = 32;

const HOW_TO_FIX = "Make one with `openssl rand -base64 33` and set it as AUTH_SECRET (or `secret`).";

/** Checks `secret` and `jwt.secret`, rotated secrets included. */
export function secretProblem(core: AuthConfig): FastifyAuthError | undefined {
  // Core uses `jwt.secret`, but its type lacks it.
  const { secret: tokenSecret } = (core.jwt ?? {}) as { secret?: string | string[] };
  const secrets = [core.secret, tokenSecret].flat().filter((secret) => secret !== undefined);
  if (secrets.length === 0) {
    return new FastifyAuthError("FST_AUTHJS_SECRET_MISSING", `There is no secret. ${HOW_TO_FIX}`);
  }
  if (secrets.some((secret) => typeof secret !== "string" || secret.length < MINIMUM_LENGTH)) {
    return new FastifyAuthError(
      "FST_AUTHJS_SECRET_TOO_SHORT",
      `A secret must have at least ${MINIMUM_LENGTH} characters, and so must every rotated one. ` +
        HOW_TO_FIX,
    );
  }
}
