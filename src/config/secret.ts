/**
 * What a secret must be before it may protect a session.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";

/** The contract's limit: "a random string of at least 32 characters". */
const MINIMUM_LENGTH = 32;

/** `npx auth secret` is what Auth.js's own documentation tells its users; openssl is everywhere. */
const HOW_TO_MEND = "Make one with `openssl rand -base64 33` and set it as AUTH_SECRET (or `secret`).";

/** Every secret in use: that of the sessions, rotated ones, and that of a provider's own tokens. */
export function secretProblem(core: AuthConfig): FastifyAuthError | undefined {
  // Core honours `jwt.secret`, though its type does not have it.
  const { secret: tokenSecret } = (core.jwt ?? {}) as { secret?: string | string[] };
  const secrets = [core.secret, tokenSecret].flat().filter((secret) => secret !== undefined);
  if (secrets.length === 0) {
    return new FastifyAuthError("FST_AUTHJS_SECRET_MISSING", `There is no secret. ${HOW_TO_MEND}`);
  }
  if (secrets.some((secret) => typeof secret !== "string" || secret.length < MINIMUM_LENGTH)) {
    return new FastifyAuthError(
      "FST_AUTHJS_SECRET_TOO_SHORT",
      `A secret must have at least ${MINIMUM_LENGTH} characters, and so must every rotated one. ${HOW_TO_MEND}`,
    );
  }
}
