/**
 * What an authenticator says of itself when it registers (WebAuthn section 6.5), as far as it takes to tell whether
 * there is a certificate in it.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/**
 * Whether an attestation object vouches for nothing: its format is "none", or "packed" signed by the new key itself.
 *
 * It is read as strictly as authenticators write it (CTAP2 canonical CBOR): what another reader could take for
 * something else is refused.
 *
 * @param attestationObject The object in base64url.
 */
export function isPlainAttestation(attestationObject: unknown): boolean {
  if (typeof attestationObject !== "string") return false;
  const bytes = Buffer.from(attestationObject, "base64url");
  // Decoders differ in what they skip.
  if (bytes.toString("base64url") !== attestationObject) return false;
  try {
    return isPlain(new Reader(bytes));
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

function isPlain(reader: Reader): boolean {
  const seen = new Set<string>();
  let format: string | undefined;
  let statement: string | undefined;
  if (reader.head(MAP) !== 3) return false;
  for (let i = 0; i < 3; i++) {
    const key = reader.text();
    seen.add(key);
    if (key === "fmt") format = reader.text();
    else if (key === "attStmt") statement = readStatement(reader);
    else if (key === "authData") reader.skip(reader.head(BYTES));
    else return false;
  }
  return seen.size === 3 && reader.atEnd && format !== undefined && format === statement;
}

/** The one format whose statement this can be. */
function readStatement(reader: Reader): string | undefined {
  const entries = reader.head(MAP);
  if (entries === 0) return "none";
  if (entries !== 2 || reader.text() !== "alg") return undefined;
  reader.head(NEGATIVE);
  if (reader.text() !== "sig") return undefined;
  reader.skip(reader.head(BYTES));
  return "packed";
}

/** Major types of CBOR (RFC 8949 section 3.1). */
const NEGATIVE = 1;
const BYTES = 2;
const TEXT = 3;
const MAP = 5;

/** Reads CBOR from the start; a `RangeError` where it is not what was expected. */
class Reader {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  get atEnd(): boolean {
    return this.#at === this.bytes.length;
  }

  /** The argument of an item of this type: a length, a count, a number. */
  head(type: number): number {
    const first = this.bytes.readUInt8(this.#at++);
    const size = first & 31;
    if (first >> 5 !== type || size > 26) throw new RangeError("unexpected CBOR");
    if (size < 24) return size;
    const width = 1 << (size - 24);
    this.#at += width;
    return this.bytes.readUIntBE(this.#at - width, width);
  }

  text(): string {
    const length = this.head(TEXT);
    this.skip(length);
    return this.bytes.toString("latin1", this.#at - length, this.#at);
  }

  skip(length: number): void {
    this.#at += length;
    if (this.#at > this.bytes.length) throw new RangeError("CBOR ends early");
  }
}
