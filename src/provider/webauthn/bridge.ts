/** The functions of `@simplewebauthn/server` 14 for core, which calls them as those of version 9. */
import { Buffer } from "node:buffer";

// deno-lint-ignore no-explicit-any -- its types are in a package that is installed only if it is used
export type LibraryFunction = (options: any) => Promise<any>;

export type Library = Record<
  | "generateAuthenticationOptions"
  | "generateRegistrationOptions"
  | "verifyAuthenticationResponse"
  | "verifyRegistrationResponse",
  LibraryFunction
>;

/**
 * The kind of an authenticator (WebAuthn section 6.5.1), by which passkeys are named. Core's rows have no column for
 * it: it is kept among the transports, since every adapter stores those as a text.
 */
export const AAGUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;

/** That of authenticators that do not say. */
const NO_AAGUID = /^[0-]+$/;

/** EdDSA, ES256, RS256, as in version 9. Keys of ML-DSA, which 14 adds, are longer than columns may be. */
const ALGORITHMS = [-8, -7, -257];

export function bridgeLibrary(library: Library): Library {
  let version: Promise<void> | undefined;
  return {
    async generateAuthenticationOptions({ allowCredentials, ...options }) {
      await (version ??= requireVersion(library));
      const textIds = allowCredentials?.map(withTextId);
      return await library.generateAuthenticationOptions({ allowCredentials: textIds, ...options });
    },
    async generateRegistrationOptions({ userID, excludeCredentials, ...options }) {
      await (version ??= requireVersion(library));
      return await library.generateRegistrationOptions({
        supportedAlgorithmIDs: ALGORITHMS,
        ...options,
        userID: Buffer.from(userID),
        userDisplayName: options.userDisplayName ?? options.userName,
        excludeCredentials: excludeCredentials?.map(withTextId),
      });
    },
    async verifyAuthenticationResponse({ authenticator, ...options }) {
      const { credentialID, credentialPublicKey: publicKey, counter, transports } = authenticator;
      const credential = { id: Buffer.from(credentialID).toString("base64url"), publicKey, counter, transports };
      return await library.verifyAuthenticationResponse({ ...options, credential });
    },
    async verifyRegistrationResponse(options) {
      const result = await library.verifyRegistrationResponse({ supportedAlgorithmIDs: ALGORITHMS, ...options });
      if (!result.verified) return result;
      const { credential: { id, publicKey, counter }, aaguid } = result.registrationInfo;
      // Core stores those of the response.
      const { response } = options.response;
      if (!NO_AAGUID.test(aaguid)) response.transports = [...response.transports ?? [], aaguid];
      const old = { credentialID: Buffer.from(id, "base64url"), credentialPublicKey: publicKey, counter };
      return { ...result, registrationInfo: { ...result.registrationInfo, ...old } };
    },
  };
}

/** A credential in lists of version 9 has bytes for its id. */
function withTextId({ id, transports, ...rest }: { id: Uint8Array; transports?: string[] }) {
  return {
    ...rest,
    id: Buffer.from(id).toString("base64url"),
    transports: transports?.filter((each) => !AAGUID.test(each)),
  };
}

/** Package managers keep the version of an application that had Auth.js before. */
async function requireVersion({ generateAuthenticationOptions }: Library): Promise<void> {
  const id = "AQ";
  const options = await generateAuthenticationOptions({ rpID: "localhost", allowCredentials: [{ id }] })
    .catch(() => undefined);
  if (options?.allowCredentials[0].id !== id) {
    throw new Error("This version of @simplewebauthn/server is too old: run `npm install @simplewebauthn/server@14`.");
  }
}
