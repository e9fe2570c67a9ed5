/** WebAuthn providers for core: a challenge is accepted once, and an attestation only if one was asked for. */
import type { Provider } from "@auth/core/providers";
import type { PublicOrigin } from "../../http/origin.ts";
import { decodeBase64Url } from "../../utils/decode.ts";
import type { WebAuthnConfig } from "../types.ts";
import { bridgeLibrary, type LibraryFunction } from "./bridge.ts";

/** Replaces the verification of a WebAuthn provider; any other provider stays as it is. */
export function prepareWebAuthnProvider(provider: Provider): Provider {
  const shipped = provider as unknown as WebAuthnConfig;
  if (shipped.type !== "webauthn") return provider;
  const library = bridgeLibrary(shipped.simpleWebAuthn);
  const once = acceptOnce(shipped.relayingParty?.origin);
  const wantsAttestation = (shipped.registrationOptions?.attestationType ?? "none") !== "none";
  const register = library.verifyRegistrationResponse;
  library.verifyAuthenticationResponse = once(library.verifyAuthenticationResponse);
  library.verifyRegistrationResponse = once(wantsAttestation ? register : withoutAttestation(register));
  return { ...shipped, simpleWebAuthn: library };
}

/** How long core accepts a challenge, in milliseconds, with its clock tolerance. */
const CHALLENGE_LIFETIME = (15 * 60 + 15) * 1000;

/**
 * Against replay (WebAuthn section 13.4.3): core keeps a challenge in a cookie only, and synchronised passkeys have no
 * signature counter. Used challenges are kept here, in each process for itself.
 * @param origins Those of the relying party, of which core passes on the first alone.
 */
function acceptOnce(origins: string | string[] | undefined): (verify: LibraryFunction) => LibraryFunction {
  const used = new Map<string, number>();
  return (verify) => async (options) => {
    const isFirst = Array.isArray(origins) && options.expectedOrigin === origins[0];
    const result = await verify(isFirst ? { ...options, expectedOrigin: origins } : options);
    if (!result.verified) return result;
    const now = Date.now();
    for (const [challenge, until] of used) {
      if (until > now) break;
      used.delete(challenge);
    }
    if (used.has(options.expectedChallenge)) throw new Error("The challenge was answered before.");
    used.set(options.expectedChallenge, now + CHALLENGE_LIFETIME);
    return result;
  };
}

/**
 * Refuses an attestation that was not asked for: browsers send none. An attacker chooses its certificates, and
 * verifying them starts with a request to an address in them.
 */
function withoutAttestation(verify: LibraryFunction): LibraryFunction {
  return async (options) => {
    if (await isPlainAttestation(options.response.response.attestationObject)) return await verify(options);
    throw new Error("There is an attestation, and none was asked for (registrationOptions.attestationType).");
  };
}

/** An attestation (WebAuthn section 6.5) without certificate: "none", or "packed" signed by the new key itself. */
async function isPlainAttestation(attestationObject: unknown): Promise<boolean> {
  const bytes = typeof attestationObject === "string" ? decodeBase64Url(attestationObject) : undefined;
  if (bytes === undefined) return false; // Decoders of base64url differ in what they skip.
  const { decodeAttestationObject } = await loadHelpers();
  try {
    const decoded = decodeAttestationObject(new Uint8Array(bytes)) as Map<string, unknown>;
    const format = decoded.get("fmt"), statement = decoded.get("attStmt") as Map<string, unknown>;
    if (format === "none") return statement.size === 0;
    return format === "packed" && statement.size === 2 && statement.has("alg") && statement.has("sig");
  } catch {
    return false; // Not CBOR, or with members of other types.
  }
}

/**
 * Loads the decoder of core's verifier, so that both read the same. It is installed only for passkeys: within `try`
 * bundlers accept that the package is not there; if it is, it is in the bundle.
 */
async function loadHelpers(): Promise<typeof import("@simplewebauthn/server/helpers")> {
  try {
    return await import("@simplewebauthn/server/helpers");
  } catch (cause) {
    // deno-coverage-ignore-start The package is installed here
    const advice = "Passkeys need the package @simplewebauthn/server: run `npm install @simplewebauthn/server@14`.";
    throw new Error(advice, { cause });
  }
  // deno-coverage-ignore-stop
}

export function webAuthnWarnings(providers: readonly Provider[], origin: PublicOrigin | undefined): string[] {
  const all = providers as unknown as (Omit<WebAuthnConfig, "type"> & {
    readonly type: string;
    readonly allowDangerousEmailAccountLinking?: boolean;
  })[];
  const trusted = all.find(({ type, allowDangerousEmailAccountLinking: links }) => type === "email" || links);
  return all.filter(({ type }) => type === "webauthn").flatMap(({ id, getUserInfo, relayingParty }) => {
    const warnings: string[] = [];
    // Core does not export its default, but it contains this error text.
    if (trusted && String(getUserInfo).includes("provider requires a database adapter to be configured")) {
      warnings.push(
        `With "${id}" a user can register under an e-mail address without verifying it, and "${trusted.id}" ` +
          "later signs the owner of the address in as that same user, whose passkey remains. To have " +
          "passkeys added by signed-in users only, set `getUserInfo: async () => null` on the provider.",
      );
    }
    if (origin !== undefined && relayingParty === undefined && !canHavePasskeys(origin)) {
      warnings.push(
        `Browsers offer no passkeys at ${origin.href}, so "${id}" will not work there: it takes https and ` +
          "a host name, or http://localhost.",
      );
    }
    return warnings;
  });
}

/** Passkeys need a secure context and a domain name (WebAuthn section 5.1.3). */
function canHavePasskeys({ href, secure }: PublicOrigin): boolean {
  const { hostname } = new URL(href);
  const address = /^(?:\[.*\]|[\d.]+)$/.test(hostname);
  return !address && (secure || /^(?:.*\.)?localhost$/.test(hostname));
}
