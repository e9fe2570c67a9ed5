/** The types of the browser client. */
import type { Session } from "@auth/core/types";

/** Settings of a client. */
export interface AuthClientOptions {
  /**
   * Where the plugin is registered, as browsers see it: a path on the page's own origin, or a URL such as
   * `"https://api.example/auth"`.
   * @default "/auth"
   */
  readonly baseUrl?: string;
  /**
   * Sends the requests.
   * @default the browser's `fetch()`
   */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/**
 * What went wrong.
 *
 * - From the server: the `error` of its answer, such as `"CredentialsSignin"` for a wrong password. An error that the
 *   application's error handler answered has the name of its status, such as `"Service Unavailable"`. What a proxy
 *   answered without JSON is the same or, over HTTP/2, `"HTTP 502"`.
 * - `"Unreachable"`: there is no answer of the plugin. The browser is offline, the server is down, CORS does not allow
 *   the page to read the answer, or something else answered at `baseUrl`.
 * - From the browser: `"TypeError"` and the like, for arguments that cannot be sent.
 * - From a passkey: the name of the browser's `DOMException`. `"NotAllowedError"`: the user cancelled, or took too
 *   long. `"AbortError"`: another passkey was asked for, or the signal aborted. `"InvalidStateError"`: the device has a
 *   passkey of this user already. `"NotSupportedError"`: the browser has no passkeys. `"SecurityError"`: passkeys of
 *   this server cannot be used on this page.
 */
export type AuthErrorType =
  | "AccessDenied"
  | "AccountNotLinked"
  | "Configuration"
  | "CredentialsSignin"
  | "EmailSignin"
  | "MissingCSRF"
  | "OAuthAccountNotLinked"
  | "OAuthCallbackError"
  | "SessionTooLarge"
  | "TooManyRequests"
  | "Verification"
  | "WebAuthnVerificationError"
  | "Unreachable"
  | "NotAllowedError"
  | "AbortError"
  | "InvalidStateError"
  | "NotSupportedError"
  | "SecurityError"
  // Any other, with completion for those above.
  | (string & Record<never, never>);

/** A request that failed. */
export interface AuthFailure {
  /** It failed. */
  readonly ok: false;
  /** What went wrong. */
  readonly error: AuthErrorType;
  /** The HTTP status of the answer; 0 if there was none, and for errors of the browser. */
  readonly status: number;
  /**
   * The details: the `code` of the `CredentialsSignin` that `authorize()` threw, or a code of the plugin such as
   * `"FST_AUTHJS_UNAVAILABLE"`.
   */
  readonly code?: string;
  /** For developers. */
  readonly message?: string;
  /** When to try again: the `Retry-After` header, which other origins see only if CORS exposes it. */
  readonly retryAfter?: string;
}

/** A sign-in or sign-out that succeeded, or that goes on elsewhere. */
export interface AuthRedirect {
  /** It succeeded. */
  readonly ok: true;
  /** Where to go now: the callback URL, the provider, or the page that says that a link was mailed. */
  readonly url: string;
}

/** The result of a sign-in or sign-out. */
export type AuthResult = AuthRedirect | AuthFailure;

/** The result of an update of the session. */
export type SessionResult<S> = {
  /** It succeeded. */
  readonly ok: true;
  /** The updated session; null if the user was signed out. */
  readonly session: S | null;
} | AuthFailure;

/** Where to go after an action. */
export interface SignOutOptions {
  /**
   * Where to go afterwards. On another origin than the server's the `redirect` callback has to allow it. A path is one
   * on the server's origin.
   * @default the address of the page
   */
  readonly callbackUrl?: string;
  /**
   * Whether the page goes to the `url` of a result that is `ok`. After a failure it stays.
   * @default true
   */
  readonly redirect?: boolean;
}

/** What the browser is told of passkeys. */
export interface SignalPasskeysOptions {
  /**
   * The id of the provider.
   * @default "passkey"
   */
  readonly provider?: string;
  /** The id of a removed passkey: needed for one that a new user registered with. */
  readonly removed?: string;
}

/** How to use a passkey. */
export interface PasskeyOptions extends SignOutOptions {
  /**
   * The id of the provider.
   * @default "passkey"
   */
  readonly provider?: string;
  /**
   * What the provider is told of the user, such as `{ email }`.
   * @default {} the signed-in user
   */
  readonly fields?: Readonly<Record<string, string>>;
  /**
   * Whether the session goes on when the browser is closed. If not, it lives for `session.ephemeralMaxAge`.
   * @default as in the session that it replaces, else true
   */
  readonly rememberMe?: boolean;
  /** Ends the wait for the user. */
  readonly signal?: AbortSignal;
}

/** How to sign in. */
export interface SignInOptions extends Omit<PasskeyOptions, "provider"> {
  /**
   * What the user typed: `{ username, password }` for credentials, `{ email }` for a sign-in link and `{ code }` for
   * the code of its mail.
   * @default {}
   */
  readonly fields?: Readonly<Record<string, string>>;
  /**
   * Parameters for the authorization request of a provider, such as `{ login_hint: "ada@example.com" }`. The
   * application decides about `client_id`, `redirect_uri` and the like.
   * @default {}
   */
  readonly parameters?: Readonly<Record<string, string>>;
  /**
   * With `"conditional"` passkeys are offered in a field of the page (`autocomplete="username webauthn"`), and the
   * promise waits for the user to choose one. For providers of passkeys alone.
   * @default a dialogue of the browser
   */
  readonly mediation?: "conditional";
}

/** A sign-in method of the application. */
export interface AuthProvider {
  /** Its id, for `signIn()`. */
  readonly id: string;
  /** Its name, for a button. */
  readonly name: string;
  /** `"oauth"`, `"oidc"`, `"email"`, `"credentials"` or `"webauthn"`. */
  readonly type: string;
  /** Where a sign-in with it starts. */
  readonly signinUrl: string;
  /** Where the provider sends its users back to. */
  readonly callbackUrl: string;
}

/** The client. Its functions do not need `this`: `const { signIn } = createAuthClient()`. */
export interface AuthClient<S = Session> {
  /**
   * Signs in.
   * @param provider The id of the provider, such as `"github"`, `"credentials"` or `"passkey"`.
   * @returns Where it leads, or what went wrong. Never rejects.
   */
  signIn(provider: string, options?: SignInOptions): Promise<AuthResult>;
  /**
   * Signs out.
   * @returns Where it leads, or what went wrong. Never rejects.
   */
  signOut(options?: SignOutOptions): Promise<AuthResult>;
  /**
   * Reads the session, and renews it as every read does.
   * @returns The session, or null if no user is signed in.
   * @throws {AuthClientError} If that is not known: the server does not answer, or its database fails.
   */
  getSession(): Promise<S | null>;
  /**
   * Updates the session, by the `jwt` callback (with sessions in a database by the `session` callback).
   * @param data What the callback gets: `session`, or `newSession`. It is sent as JSON.
   * @returns The updated session, or what went wrong. Never rejects: data that JSON cannot hold, such as a BigInt, are
   * a `"TypeError"`.
   */
  updateSession(data?: unknown): Promise<SessionResult<S>>;
  /**
   * The sign-in methods of the application, by id.
   * @throws {AuthClientError} If the server does not answer.
   */
  getProviders(): Promise<Readonly<Record<string, AuthProvider>>>;
  /**
   * Makes a passkey for the signed-in user, or for a new user if the provider allows that.
   * @returns Where it leads, or what went wrong. Never rejects.
   */
  registerPasskey(options?: PasskeyOptions): Promise<AuthResult>;
  /**
   * Tells the browser which passkeys the signed-in user has, so that it no longer offers others of this user. Call it
   * after a passkey was removed. Browsers that cannot be told are passed over.
   */
  signalPasskeys(options?: SignalPasskeysOptions): Promise<void>;
  /**
   * Calls `listener` after this client has changed the session: by a sign-in that did not leave the page, a sign-out or
   * an update.
   * @returns What ends that.
   */
  onChange(listener: () => void): () => void;
}
