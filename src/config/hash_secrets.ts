/**
 * The secrets that CSRF tokens and the tokens of sign-in links are hashed with, while secrets are rotated.
 *
 * Core hashes with all secrets joined to one text, so that adding a secret makes earlier tokens invalid. Here
 * new tokens are hashed with the first secret alone, as sessions are, and tokens of every configured secret
 * are accepted.
 */
import { hash } from "node:crypto";

export interface HashSecrets {
  readonly current: string;
  /** Those that earlier tokens may have been hashed with. */
  readonly others: readonly string[];
}

/**
 * The secrets for hashing: each configured one, and the joined ones that another integration of Auth.js uses:
 * all of them, and any two in either order, as while a secret is added or moved.
 */
export function hashSecrets(secret: string | readonly string[] | undefined): HashSecrets {
  const secrets = [secret ?? []].flat() as string[];
  const [current = "", ...older] = secrets;
  const pairs = secrets.flatMap((a) => secrets.filter((b) => b !== a).map((b) => `${a},${b}`));
  const others = new Set([...older, ...pairs, secrets.join()]);
  others.delete(current);
  return { current, others: [...others] };
}

/** Hashes a token as core does. */
export function hashToken(token: string, secret: string): string {
  return hash("sha256", `${token}${secret}`, "hex");
}
