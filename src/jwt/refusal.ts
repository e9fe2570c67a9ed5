/**
 * Why a token is not a session of ours, in the words of `jose`, which core's log has. There is one of each kind,
 * without a stack: a client can send any number of such tokens.
 */
export class Refusal extends Error {
  /** Whether another process may know the key: then the token is left in the browser. */
  declare readonly unknownKey: boolean;
}

/** Not by its constructor: Deno takes 15 ms for the first stack of a large file, when the application starts. */
function refusal(name: string, message: string, unknownKey = false): Refusal {
  const values = { name, message, unknownKey, stack: `${name}: ${message}` };
  const properties = Object.entries(values).map(([key, value]) => [key, { value }]);
  return Object.freeze(Object.create(Refusal.prototype, Object.fromEntries(properties)));
}

/** It cannot be a token: other characters, parts or algorithms, too long. */
export const MALFORMED: Refusal = refusal("JWEInvalid", "Invalid Compact JWE");

/** It names a known key, and was changed since it was sealed, or never sealed with that key. */
export const UNAUTHENTIC: Refusal = refusal("JWEDecryptionFailed", "decryption operation failed");

/** It was made with our secret for another cookie, or for another use. */
export const OTHER_USE: Refusal = refusal("Error", "no matching decryption secret");

/** It was made with a secret that another process may have, while the secret is rotated. */
export const UNKNOWN_KEY: Refusal = refusal("Error", "no matching decryption secret", true);

/** It has ended. */
export const EXPIRED: Refusal = refusal("JWTExpired", '"exp" claim timestamp check failed');
