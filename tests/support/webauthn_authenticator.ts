/**
 * An authenticator in software: it signs whatever a test wants signed, also what no browser would let through.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** One credential, as its authenticator keeps it. */
export interface Credential {
  readonly id: Buffer;
  readonly rpId: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly userHandle: string;
  counter: number;
}

/** The options of a ceremony, as the server sends them. */
export interface CeremonyOptions {
  readonly challenge: string;
  readonly rpId?: string;
  readonly rp?: { readonly id?: string };
  readonly user?: { readonly id: string; readonly name: string; readonly displayName?: string };
  readonly allowCredentials?: readonly { readonly id: string }[];
}

/** What is to be different from what an honest browser and an honest authenticator would do. */
export interface Deviations {
  readonly challenge?: string;
  /** The relying party that is signed for. */
  readonly rpId?: string;
  /** `webauthn.create` or `webauthn.get`. */
  readonly type?: string;
  readonly userPresent?: boolean;
  readonly userVerified?: boolean;
  /** Signs until the signature is one of the rare ones, see {@linkcode isShort}. */
  readonly shortSignature?: boolean;
  /** For a new credential: the id to claim. */
  readonly id?: Buffer;
  readonly transports?: unknown;
  /** For a new credential: the kind of the authenticator, in hexadecimal digits. */
  readonly aaguid?: string;
  /** For a new credential: what vouches for it, made from what is to be signed; undefined has it try another key. */
  readonly attestation?: (signed: Buffer, key: KeyObject) => { fmt: string; attStmt: CborMap } | undefined;
}

/** What a browser makes of a ceremony's result, as JSON. */
export interface CredentialJson {
  id: string;
  rawId: string;
  type: string;
  clientExtensionResults: Record<string, never>;
  authenticatorAttachment: string;
  response: Record<string, unknown>;
}

/** An authenticator, with the browser in front of it. */
export class SoftwareAuthenticator {
  /**
   * @param origin Where the browser is.
   * @param counts Whether signatures are counted, as security keys do and synchronised passkeys do not.
   * @param credentials What it holds already.
   */
  constructor(
    readonly origin: string,
    private readonly counts: boolean = true,
    readonly credentials: Credential[] = [],
  ) {}

  /** The same keys and counters in a second device. */
  clone(): SoftwareAuthenticator {
    return new SoftwareAuthenticator(this.origin, this.counts, this.credentials.map((each) => ({ ...each })));
  }

  /** The same authenticator, with a browser that is somewhere else. */
  at(origin: string): SoftwareAuthenticator {
    return new SoftwareAuthenticator(origin, this.counts, this.credentials);
  }

  /** Makes a credential: `navigator.credentials.create()`. */
  create(options: CeremonyOptions, deviations: Deviations = {}): CredentialJson {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const rpId = deviations.rpId ?? options.rp?.id ?? "";
    const credential: Credential = {
      id: deviations.id ?? randomBytes(32),
      rpId,
      privateKey,
      publicKey,
      userHandle: options.user?.id ?? "",
      counter: this.counts ? 1 : 0,
    };
    const clientData = this.#clientData("webauthn.create", options, deviations);
    const authData = Buffer.concat([
      this.#authData(credential, ATTESTED, deviations),
      deviations.aaguid === undefined ? Buffer.alloc(16) : Buffer.from(deviations.aaguid, "hex"),
      uint(2, credential.id.length),
      credential.id,
      cbor(toCose(publicKey)),
    ]);
    const signed = Buffer.concat([authData, sha256(clientData)]);
    const attest = deviations.attestation ?? (() => ({ fmt: "none", attStmt: new Map() }));
    const attestation = attest(signed, privateKey);
    if (attestation === undefined) return this.create(options, deviations);
    const { fmt, attStmt } = attestation;
    this.credentials.push(credential);
    const attestationObject = cbor(
      new Map<CborKey, CborValue>([["fmt", fmt], ["attStmt", attStmt], ["authData", authData]]),
    );
    return toJson(credential, {
      clientDataJSON: clientData.toString("base64url"),
      attestationObject: attestationObject.toString("base64url"),
      transports: "transports" in deviations ? deviations.transports : ["internal", "hybrid"],
    });
  }

  /** Signs with a credential: `navigator.credentials.get()`. */
  get(options: CeremonyOptions, deviations: Deviations = {}): CredentialJson {
    const allowed = options.allowCredentials?.map(({ id }) => id);
    const credential = this.credentials.find(({ id }) =>
      !allowed?.length || allowed.includes(id.toString("base64url"))
    );
    if (!credential) throw new Error("none of the credentials is allowed");
    if (this.counts) credential.counter++;

    const authData = this.#authData(credential, 0, deviations);
    for (let attempt = 0;; attempt++) {
      const clientData = this.#clientData("webauthn.get", options, deviations, attempt);
      const signed = Buffer.concat([authData, sha256(clientData)]);
      const signature = sign("sha256", signed, credential.privateKey);
      if (deviations.shortSignature && !isShort(signature)) continue;
      return toJson(credential, {
        clientDataJSON: clientData.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: signature.toString("base64url"),
        userHandle: credential.userHandle,
      });
    }
  }

  /** Browsers may add members of their own; some runtimes always sign the same in the same way. */
  #clientData(type: string, options: CeremonyOptions, deviations: Deviations, attempt = 0): Buffer {
    const challenge = deviations.challenge ?? options.challenge;
    const { origin } = this;
    return Buffer.from(
      JSON.stringify({ type: deviations.type ?? type, challenge, origin, crossOrigin: false, attempt }),
    );
  }

  #authData({ rpId, counter }: Credential, flags: number, deviations: Deviations): Buffer {
    const { userPresent = true, userVerified = true } = deviations;
    const all = flags | (userPresent ? PRESENT : 0) | (userVerified ? VERIFIED : 0);
    return Buffer.concat([sha256(Buffer.from(deviations.rpId ?? rpId)), uint(1, all), uint(4, counter)]);
  }
}

/** Flags of authenticator data (WebAuthn section 6.1). */
const PRESENT = 1;
const VERIFIED = 4;
const ATTESTED = 64;

/** Whether one of the two numbers of a signature has less than 32 bytes, as happens to one in 128. */
export function isShort(signature: Buffer): boolean {
  const bytesAt = (length: number) => signature[length]! - (signature[length + 1] === 0 ? 1 : 0);
  return bytesAt(3) < 32 || bytesAt(3 + 1 + signature[3]! + 1) < 32;
}

function toJson({ id }: Credential, response: Record<string, unknown>): CredentialJson {
  const text = id.toString("base64url");
  return {
    id: text,
    rawId: text,
    type: "public-key",
    clientExtensionResults: {},
    authenticatorAttachment: "platform",
    response,
  };
}

/** The key as COSE has it (RFC 9053 section 7.1): EC2, ES256, P-256. */
function toCose(key: KeyObject): CborMap {
  const { x = "", y = "" } = key.export({ format: "jwk" });
  return new Map<CborKey, CborValue>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, "base64url")],
    [-3, Buffer.from(y, "base64url")],
  ]);
}

type CborKey = number | string;
type CborValue = number | string | Buffer | CborMap | CborValue[];

/** A map of CBOR, in the order it is written. */
export type CborMap = Map<CborKey, CborValue>;

/** Writes CBOR (RFC 8949): what WebAuthn uses of it. */
export function cbor(value: CborValue): Buffer {
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") {
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  }
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  return Buffer.concat([
    head(5, value.size),
    ...[...value].flatMap(([key, each]) => [cbor(key), cbor(each)]),
  ]);
}

function head(type: number, argument: number): Buffer {
  if (argument < 24) return uint(1, type << 5 | argument);
  if (argument < 256) return Buffer.concat([uint(1, type << 5 | 24), uint(1, argument)]);
  return Buffer.concat([uint(1, type << 5 | 25), uint(2, argument)]);
}

function uint(width: number, value: number): Buffer {
  const bytes = Buffer.alloc(width);
  bytes.writeUIntBE(value, 0, width);
  return bytes;
}

function sha256(data: Buffer): Buffer {
  return createHash("sha256").update(data).digest();
}
