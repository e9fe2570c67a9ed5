/**
 * What core hashes with a secret while secrets are rotated: CSRF tokens and the tokens of sign-in links.
 *
 * Core writes its list of secrets as text, all of them joined, so that a token that was made before a secret was added is
 * valid nowhere afterwards. Here new ones are made with the first secret alone, as sessions are, and those of every
 * configured secret are accepted.
 *
 * @module
 */
import { createHash } from "node:crypto";

/** Which secret new tokens are hashed with, and all that tokens may have been hashed with. */
export interface HashSecrets {
  readonly current: string;
  readonly others: readonly string[];
}

/**
 * The texts for a configuration's secrets: each of them, and the lists that core makes of them in another process or in
 * another integration of Auth.js: all in their order, and any two in either order, as while a secret is added or moved.
 */
export function hashSecrets(secret: string | readonly string[] | undefined): HashSecrets {
  const secrets = [secret ?? []].flat() as string[];
  const [current = "", ...older] = secrets;
  const pairs = secrets.flatMap((a) => secrets.filter((b) => b !== a).map((b) => `${a},${b}`));
  const others = new Set([...older, ...pairs, secrets.join()]);
  others.delete(current);
  return { current, others: [...others] };
}

/** A token hashed as core does it. */
export function hashToken(token: string, secret: string): string {
  return createHash("sha256").update(`${token}${secret}`).digest("hex");
}
