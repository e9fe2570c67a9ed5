/**
 * WebAuthn providers as core is given them: a challenge counts once, what was signed is believed, and an
 * authenticator's certificates are not asked after unless the application wants to see them.
 *
 * @module
 */
import type { Provider } from "@auth/core/providers";
import { isPlainAttestation } from "./attestation.ts";
import type { PublicOrigin } from "../../http/origin.ts";
import { type Assertion, isSignedWithEs256 } from "./signature.ts";

// deno-lint-ignore no-explicit-any -- their types are in a package that is installed only where it is used
type Verify = (options: any) => Promise<{ verified: boolean }>;

/** The part of a provider that is looked at or replaced. */
interface WebAuthnProvider {
  id: string;
  type: string;
  simpleWebAuthn: { verifyAuthenticationResponse: Verify; verifyRegistrationResponse: Verify };
  registrationOptions?: { attestationType?: string };
  relayingParty?: unknown;
  getUserInfo?: unknown;
}

/** The provider with its verification guarded; any other provider as it is. */
export function prepareWebAuthnProvider(provider: Provider): Provider {
  const shipped = provider as unknown as WebAuthnProvider;
  if (shipped.type !== "webauthn") return provider;
  const { simpleWebAuthn, registrationOptions } = shipped;
  const once = countOnce();
  const wantsAttestation = (registrationOptions?.attestationType ?? "none") !== "none";
  const register = simpleWebAuthn.verifyRegistrationResponse;
  return {
    ...shipped,
    simpleWebAuthn: {
      ...simpleWebAuthn,
      verifyAuthenticationResponse: once(believingSignatures(simpleWebAuthn.verifyAuthenticationResponse)),
      verifyRegistrationResponse: once(wantsAttestation ? register : withoutAttestation(register)),
    },
  } as unknown as Provider;
}

/** Everything else was right where the answer is that it was not verified: the rest throws. */
function believingSignatures(verify: Verify): Verify {
  return async (options) => {
    const result = await verify(options);
    return result.verified ? result : { ...result, verified: await isSignedWithEs256(options as Assertion) };
  };
}

/** How long core accepts a challenge, in milliseconds, its tolerance for clocks included. */
const CHALLENGE_LIFETIME = (15 * 60 + 15) * 1000;

/**
 * Core keeps a challenge in a cookie and nowhere else, so cookie and answer can be sent again as long as it lives, and
 * passkeys that are synchronised have no counter that would tell (WebAuthn section 13.4.3). Those that were answered
 * are remembered here; where several processes serve an application, each remembers its own.
 */
function countOnce(): (verify: Verify) => Verify {
  const answered = new Map<string, number>();
  return (verify) => async (options) => {
    const result = await verify(options);
    if (!result.verified) return result;
    const now = Date.now();
    for (const [challenge, until] of answered) {
      if (until > now) break;
      answered.delete(challenge);
    }
    const { expectedChallenge } = options as { expectedChallenge: string };
    if (answered.has(expectedChallenge)) throw new Error("The challenge was answered before.");
    answered.set(expectedChallenge, now + CHALLENGE_LIFETIME);
    return result;
  };
}

/**
 * Whoever registers chooses the certificates of an attestation, and verifying them begins with a request to the
 * address they name. Who did not ask for an attestation is sent none by a browser.
 */
function withoutAttestation(verify: Verify): Verify {
  return async (options) => {
    const { attestationObject } =
      (options as { response: { response: { attestationObject?: unknown } } }).response.response;
    if (await isPlainAttestation(attestationObject)) return await verify(options);
    throw new Error("There is an attestation, and none was asked for (registrationOptions.attestationType).");
  };
}

/**
 * Settings that work and weaken, or cannot work: named at boot.
 *
 * @param providers The providers, completed from the environment.
 * @param origin The pinned public origin.
 */
export function webAuthnWarnings(providers: readonly Provider[], origin: PublicOrigin | undefined): string[] {
  const all = providers as unknown as WebAuthnProvider[];
  const email = all.find(({ type }) => type === "email");
  return all.filter(({ type }) => type === "webauthn").flatMap(({ id, getUserInfo, relayingParty }) => {
    const warnings: string[] = [];
    if (email && isShipped(getUserInfo)) {
      warnings.push(
        `With "${id}" anybody can register under an e-mail address that nobody verified, and "${email.id}" later signs ` +
          "its owner in as that same user, whose passkey remains. To have passkeys added by signed-in users only, " +
          "set `getUserInfo: async () => null` on the provider.",
      );
    }
    if (origin !== undefined && relayingParty === undefined && !canHavePasskeys(origin)) {
      warnings.push(
        `Browsers offer no passkeys at ${origin.href}, so "${id}" will not work there: it takes https and a host name, or ` +
          "http://localhost.",
      );
    }
    return warnings;
  });
}

/** Core exports its default nowhere; this error text of its own tells it from an application's. */
function isShipped(getUserInfo: unknown): boolean {
  return typeof getUserInfo === "function" &&
    String(getUserInfo).includes("provider requires a database adapter to be configured");
}

/** A secure context, and a host that is a domain (WebAuthn section 5.1.3). */
function canHavePasskeys({ href, secure }: PublicOrigin): boolean {
  const { hostname } = new URL(href);
  const address = /^(?:\[.*\]|[\d.]+)$/.test(hostname);
  return !address && (secure || /^(?:.*\.)?localhost$/.test(hostname));
}
