// deno-coverage-ignore-file It runs in browsers: tests/kernel/client/client_browser_test.ts has one.
/**
 * The ceremonies of WebAuthn in the browser. It is loaded when a passkey is used. Not every browser in use has
 * `parseCreationOptionsFromJSON()` and `toJSON()`.
 */

/** What `GET <mount path>/webauthn-options/:provider` answers. */
interface Ceremony {
  readonly action: "authenticate" | "register";
  /** The options, with base64url in place of bytes. */
  readonly options: Record<string, unknown> & {
    readonly challenge: string;
    readonly rpId?: string;
    readonly rp?: { readonly id: string };
    readonly user?: { readonly id: string };
    readonly allowCredentials?: readonly Descriptor[];
    readonly excludeCredentials?: readonly Descriptor[];
  };
}

type Descriptor = Readonly<Record<"id", string>>;

/** What an authenticator answers in bytes, to either ceremony. */
const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"] as const;

/** The part of the browser's `PublicKeyCredential` that is used. */
interface Credential {
  readonly id: string;
  readonly rawId: ArrayBuffer;
  readonly type: string;
  readonly authenticatorAttachment?: string | null;
  readonly response: Partial<Record<typeof PARTS[number], ArrayBuffer | null>> & { getTransports?(): string[] };
  getClientExtensionResults(): unknown;
}

interface Browser {
  readonly PublicKeyCredential?: {
    isConditionalMediationAvailable?(): Promise<boolean>;
    signalUnknownCredential?(options: unknown): Promise<void>;
    signalAllAcceptedCredentials?(options: unknown): Promise<void>;
  };
  readonly navigator: {
    readonly credentials: Record<"create" | "get", (options: unknown) => Promise<Credential | null>>;
  };
}

/**
 * Goes through a ceremony with the user.
 * @returns The credential, in JSON.
 * @throws {DOMException} of the browser, by which a ceremony ends (WebAuthn sections 5.1.3 and 5.1.4).
 */
export async function getCredential({ action, options }: Ceremony, signal: AbortSignal, mediation?: "conditional") {
  const { PublicKeyCredential, navigator } = globalThis as unknown as Browser;
  const isSupported = PublicKeyCredential !== undefined &&
    (mediation === undefined || await PublicKeyCredential.isConditionalMediationAvailable?.());
  if (!isSupported) throw new DOMException("The browser has no passkeys.", "NotSupportedError");
  const { credentials } = navigator;
  const { allowCredentials = [], excludeCredentials = [], user } = options;
  const challenge = toBytes(options.challenge);
  const credential = action === "register"
    ? await credentials.create({
      signal,
      publicKey: {
        ...options,
        challenge,
        user: { ...user, id: toBytes(user?.id ?? "") },
        excludeCredentials: excludeCredentials.map(toDescriptor),
      },
    })
    : await credentials.get({
      signal,
      ...(mediation && { mediation }),
      publicKey: { ...options, challenge, allowCredentials: mediation ? [] : allowCredentials.map(toDescriptor) },
    });
  if (credential === null) throw new DOMException("There is no passkey.", "NotAllowedError");
  return JSON.stringify(toJson(credential));
}

/** Tells the browser to offer a passkey no more (WebAuthn section 5.1.10.2). */
export async function signalUnknown({ options: { rpId, rp } }: Ceremony, credentialId: string): Promise<void> {
  const { PublicKeyCredential } = globalThis as unknown as Browser;
  await PublicKeyCredential?.signalUnknownCredential?.({ rpId: rpId ?? rp?.id, credentialId });
}

/** Tells the browser which passkeys a user has, by the options of another one. */
export async function signalAccepted({ options: { rp, user, excludeCredentials = [] } }: Ceremony): Promise<void> {
  const { PublicKeyCredential } = globalThis as unknown as Browser;
  const allAcceptedCredentialIds = excludeCredentials.map(({ id }) => id);
  await PublicKeyCredential?.signalAllAcceptedCredentials?.(
    { rpId: rp?.id, userId: user?.id, allAcceptedCredentialIds },
  );
}

function toDescriptor(descriptor: Descriptor) {
  return { ...descriptor, id: toBytes(descriptor.id) };
}

function toJson(credential: Credential) {
  const { id, rawId, type, authenticatorAttachment, response } = credential;
  const parts = PARTS.map((name) => [name, response[name] ? toText(response[name]) : undefined]);
  return {
    id,
    rawId: toText(rawId),
    type,
    authenticatorAttachment: authenticatorAttachment ?? undefined,
    clientExtensionResults: credential.getClientExtensionResults(),
    response: { ...Object.fromEntries(parts), transports: response.getTransports?.() },
  };
}

/** base64url. */
function toBytes(text: string): Uint8Array {
  return Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
