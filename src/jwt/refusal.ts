/**
 * Why a token is refused, in the words of `jose`, which core's log has.
 *
 * These errors are made once and have no stack: a client can send any number of such tokens, and refusing one
 * must cost little.
 */

/** A token that is not a session of ours. */
export class Refusal extends Error {
  /** As jose's errors have. */
  readonly code: string | undefined;
  /** Whether another process may know the key: then the token is left in the browser. */
  readonly unknownKey: boolean;

  constructor(name: string, message: string, code?: string, unknownKey = false) {
    super(message);
    // Node 20 would write out the stack before it is replaced, and V8 count the lines of the file for that.
    delete this.stack;
    Object.defineProperties(this, { name: { value: name }, stack: { value: `${name}: ${message}` } });
    this.code = code;
    this.unknownKey = unknownKey;
    Object.freeze(this);
  }
}

/** It cannot be a token: other characters, other parts, too long. */
export const MALFORMED: Refusal = new Refusal("JWEInvalid", "Invalid Compact JWE", "ERR_JWE_INVALID");

/** It is encrypted in a way that core does not write and does not read. */
export const NOT_ALLOWED: Refusal = new Refusal(
  "JOSEAlgNotAllowed",
  "The token is not encrypted as a session is",
  "ERR_JOSE_ALG_NOT_ALLOWED",
);

/** It names a known key, and was changed since it was sealed, or never sealed with that key. */
export const UNAUTHENTIC: Refusal = new Refusal(
  "JWEDecryptionFailed",
  "decryption operation failed",
  "ERR_JWE_DECRYPTION_FAILED",
);

/** It was made with our secret for another cookie, or for another use. */
export const OTHER_USE: Refusal = new Refusal("Error", "no matching decryption secret");

/**
 * It was made with a secret that this process does not have: perhaps another one does, while the secret is
 * rotated.
 */
export const UNKNOWN_KEY: Refusal = new Refusal("Error", "no matching decryption secret", undefined, true);

/** It has ended. */
export const EXPIRED: Refusal = new Refusal(
  "JWTExpired",
  '"exp" claim timestamp check failed',
  "ERR_JWT_EXPIRED",
);

/** It begins later. */
export const NOT_YET_VALID: Refusal = claimFailed('"nbf" claim timestamp check failed');

/** A time in it is not a number. */
export const NO_NUMBER: Readonly<Record<"iat" | "nbf" | "exp", Refusal>> = {
  iat: claimFailed('"iat" claim must be a number'),
  nbf: claimFailed('"nbf" claim must be a number'),
  exp: claimFailed('"exp" claim must be a number'),
};

function claimFailed(message: string): Refusal {
  return new Refusal("JWTClaimValidationFailed", message, "ERR_JWT_CLAIM_VALIDATION_FAILED");
}
