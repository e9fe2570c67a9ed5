/**
 * The secrets that CSRF tokens and the tokens of sign-in links are hashed with. Core joins all secrets to one text, so
 * that adding one makes earlier tokens invalid. Here new tokens are hashed with the first secret alone, as sessions
 * are, and tokens of every configured secret are accepted.
 */
import { hash } from "node:crypto";

export interface HashSecrets {
  readonly current: string;
  /** Those that earlier tokens may have been hashed with. */
  readonly others: readonly string[];
}

/** Besides each secret the joined ones of other integrations: all, and two in either order, as while one is moved. */
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
