/**
 * Authenticators of a real browser that need no hardware and no hand (Chrome DevTools Protocol, WebAuthn domain).
 *
 * @module
 */
import type { CDPSession, Page } from "playwright-core";

/** A credential as the browser shows and takes it. */
export interface BrowserCredential {
  credentialId: string;
  isResidentCredential: boolean;
  rpId?: string;
  privateKey: string;
  userHandle?: string;
  signCount: number;
}

/** An authenticator that is plugged in. */
export interface VirtualAuthenticator {
  /** What it holds. */
  credentials(): Promise<BrowserCredential[]>;
  /** Puts a credential in, as an attacker does who copied it. */
  take(credential: BrowserCredential): Promise<void>;
  /** Unplugs it. */
  remove(): Promise<void>;
}

/** A built-in authenticator, such as a phone's or a laptop's, or one on a cable. */
export type Transport = "internal" | "usb";

const sessions = new WeakMap<Page, Promise<CDPSession>>();

function sessionOf(page: Page): Promise<CDPSession> {
  let session = sessions.get(page);
  if (session === undefined) {
    session = page.context().newCDPSession(page).then(async (opened) => {
      await opened.send("WebAuthn.enable");
      return opened;
    });
    sessions.set(page, session);
  }
  return session;
}

/** Plugs an authenticator into a page's browser. It knows its user, and is touched whenever it asks. */
export async function addAuthenticator(
  page: Page,
  transport: Transport = "internal",
): Promise<VirtualAuthenticator> {
  const session = await sessionOf(page);
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    async credentials() {
      const { credentials } = await session.send("WebAuthn.getCredentials", { authenticatorId });
      return credentials;
    },
    async take(credential) {
      await session.send("WebAuthn.addCredential", { authenticatorId, credential });
    },
    async remove() {
      await session.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
    },
  };
}

/**
 * Keeps a page's offers in a field waiting, as for a user who does not look there: a virtual authenticator takes them up at
 * once. They end when the page ends them.
 *
 * @returns What lets the offers of the pages to come be taken up.
 */
export async function holdOffers(page: Page): Promise<() => Promise<void>> {
  await page.addInitScript(() => {
    const { credentials } = navigator;
    const get = credentials.get.bind(credentials);
    credentials.get = (options) => {
      if (options?.mediation !== "conditional" || sessionStorage.takeUpOffers) return get(options);
      const { signal } = options;
      return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    };
  });
  return () => page.evaluate(() => void (sessionStorage.takeUpOffers = "yes"));
}
