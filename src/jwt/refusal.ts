/**
 * Why a token is not a session of ours, in the words of `jose`, which core's log has. There is one of each kind,
 * without a stack: a client can send any number of such tokens.
 */
export class Refusal extends Error {
  /** @param unknownKey Whether another process may know the key: then the token is left in the browser. */
  constructor(name: string, message: string, readonly unknownKey: boolean = false) {
    super(message);
    this.name = name;
    this.stack = `${name}: ${message}`;
    Object.freeze(this);
  }
}

/** It cannot be a token: other characters, parts or algorithms, too long. */
export const MALFORMED: Refusal = new Refusal("JWEInvalid", "Invalid Compact JWE");

/** It names a known key, and was changed since it was sealed, or never sealed with that key. */
export const UNAUTHENTIC: Refusal = new Refusal("JWEDecryptionFailed", "decryption operation failed");

/** It was made with our secret for another cookie, or for another use. */
export const OTHER_USE: Refusal = new Refusal("Error", "no matching decryption secret");

/** It was made with a secret that another process may have, while the secret is rotated. */
export const UNKNOWN_KEY: Refusal = new Refusal("Error", "no matching decryption secret", true);

/** It has ended. */
export const EXPIRED: Refusal = new Refusal("JWTExpired", '"exp" claim timestamp check failed');
