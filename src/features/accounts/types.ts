/** What `linkAccount()`, `unlinkAccount()` and `listAccounts()` take and give. */
import type { AllowGetOptions, SignInActionOptions } from "../../actions/actions.ts";
import type { ActionRequest } from "../../actions/perform.ts";
import type { GuardedReply, SessionRequest } from "../../types.ts";

/** An account by which a user signs in. Its tokens stay on the server. */
export interface LinkedAccount {
  /** Id of the provider, such as `"github"`. */
  readonly provider: string;
  /** Id of the user at the provider. */
  readonly providerAccountId: string;
  /** Kind of the provider: `"oauth"`, `"oidc"`, `"webauthn"`. */
  readonly type: string;
}

/** Options of `linkAccount()`. */
export type LinkAccountOptions = Omit<SignInActionOptions, "fields" | "rememberMe">;

/** What `linkAccount()` gives with `redirect: false`. */
export interface LinkAccountResult {
  /** Where the user goes: to the provider. */
  readonly url: string;
}

/** Options of `unlinkAccount()`. */
export interface UnlinkAccountOptions extends AllowGetOptions {
  /**
   * Whether the user can sign in by a method that the adapter knows nothing of, such as a password: then the last
   * account can be unlinked, too.
   * @default false
   */
  readonly otherSignInMethod?: boolean;
}

/** A passkey of a user. */
export interface ListedPasskey {
  /** The id of the credential, in base64url. */
  readonly id: string;
  /** Id of the provider, such as `"passkey"`. */
  readonly provider: string;
  /** The name of `renamePasskey()`, else that of what made it, such as `"Apple Passwords"`, if it is known. */
  readonly name: string | undefined;
  /** Whether it is synchronised between devices. */
  readonly synced: boolean;
  /** How the authenticator is reached, such as `"internal"` and `"usb"`. */
  readonly transports: readonly string[];
}

/** The accounts of users, as the object of `createAuth()` links, unlinks and lists them. */
export interface AccountsActions {
  /** Links an account of a provider to the signed-in user: see {@linkcode LinkAccountAction}. */
  readonly linkAccount: LinkAccountAction;
  /**
   * Unlinks an account of the signed-in user, who then cannot sign in with it any more. Needs an adapter with
   * `listAccountsByUserId()`: see `withAccountList()`.
   *
   * Refused if the user could not sign in any more. What is left counts if its provider is in the configuration:
   * another account, a passkey, and sign-in links by e-mail if the address of the user is verified.
   * @param request The request of the route. A page of another origin must not have sent it.
   * @throws {FastifyAuthError} `FST_AUTHJS_LAST_SIGN_IN_METHOD` (409); `FST_AUTHJS_NOT_FOUND` (404) if the user has no
   * such account; `FST_AUTHJS_UNAUTHENTICATED` (401); `FST_AUTHJS_CROSS_SITE` (403); `FST_AUTHJS_UNAVAILABLE` (503) if
   * the adapter failed; `FST_AUTHJS_CONFIG_INVALID` without such an adapter.
   */
  readonly unlinkAccount: (
    request: ActionRequest,
    account: Pick<LinkedAccount, "provider" | "providerAccountId">,
    options?: UnlinkAccountOptions,
  ) => Promise<void>;
  /**
   * The accounts of the signed-in user, without their tokens. Needs an adapter with `listAccountsByUserId()`: see
   * `withAccountList()`.
   * @param request The request, in any hook or handler.
   * @throws {FastifyAuthError} `FST_AUTHJS_UNAUTHENTICATED` (401); `FST_AUTHJS_UNAVAILABLE` (503) if the adapter
   * failed; `FST_AUTHJS_CONFIG_INVALID` without such an adapter.
   */
  readonly listAccounts: (request: SessionRequest) => Promise<LinkedAccount[]>;
  /**
   * The passkeys of the signed-in user.
   * @param request The request, in any hook or handler.
   * @throws {FastifyAuthError} `FST_AUTHJS_UNAUTHENTICATED` (401); `FST_AUTHJS_UNAVAILABLE` (503) if the adapter
   * failed; `FST_AUTHJS_CONFIG_INVALID` without an adapter or a provider for passkeys.
   */
  readonly listPasskeys: (request: SessionRequest) => Promise<ListedPasskey[]>;
  /**
   * Names a passkey of the signed-in user. Needs an adapter with `updateAuthenticator()`, as `PasskeyAdapter` has it.
   * @param request The request of the route. A page of another origin must not have sent it.
   * @param id The id of the passkey, as `listPasskeys()` returns it.
   * @param name The name; 64 characters are kept. An empty one restores the default.
   * @throws {FastifyAuthError} `FST_AUTHJS_NOT_FOUND` (404) if the user has no such passkey; `FST_AUTHJS_BODY_INVALID`
   * (400) if the name is no text; `FST_AUTHJS_CONFIG_INVALID` without such an adapter; and as `listPasskeys()` and
   * `unlinkAccount()`.
   */
  readonly renamePasskey: (request: ActionRequest, id: string, name: string) => Promise<void>;
  /**
   * Removes a passkey of the signed-in user, who then cannot sign in with it any more. Refused as `unlinkAccount()` is.
   * If the adapter does not list accounts, only passkeys and sign-in links by e-mail count.
   * @param request The request of the route. A page of another origin must not have sent it.
   * @param id The id of the passkey, as `listPasskeys()` returns it.
   * @throws {FastifyAuthError} As `unlinkAccount()`.
   */
  readonly removePasskey: (request: ActionRequest, id: string, options?: UnlinkAccountOptions) => Promise<void>;
}

/**
 * Links an account of an OAuth or OpenID Connect provider to the signed-in user, by a sign-in there. The session stays
 * that user's, and the e-mail address and the name of the user stay as they are. There is no CSRF token: a request that
 * a page of another origin made the browser send is refused.
 *
 * If it fails at the provider or in the callback, the user comes back to the `callbackUrl` with `error`:
 * `OAuthAccountNotLinked` (the account is linked to another user), `SessionRequired` (the user who started it is not
 * signed in any more), `AccessDenied` (of the `signIn` callback), `OAuthCallbackError` (the user cancelled).
 */
export interface LinkAccountAction {
  /**
   * Starts it, and leaves the reply to the route: it gets only the cookies.
   * @param request The request of the route. A page of another origin must not have sent it.
   * @throws {FastifyAuthError} `FST_AUTHJS_UNAUTHENTICATED` (401) if no user of the adapter is signed in by the session
   * cookie; `FST_AUTHJS_CROSS_SITE` (403); `FST_AUTHJS_NOT_FOUND` (404) if there is no such OAuth provider;
   * `FST_AUTHJS_TOO_MANY_REQUESTS` (429) above a `rateLimit`; `FST_AUTHJS_UNAVAILABLE` (503);
   * `FST_AUTHJS_CONFIG_INVALID` without an adapter, or for a provider that cannot be linked; `AuthActionError` if the
   * sign-in at the provider cannot begin.
   */
  (
    request: ActionRequest,
    reply: GuardedReply,
    provider: string,
    options: LinkAccountOptions & { redirect: false },
  ): Promise<LinkAccountResult>;
  /**
   * Starts it, and sends the reply: a redirect, or `{ url }` to a script that asks for JSON. Return the result from the
   * handler.
   */
  (request: ActionRequest, reply: GuardedReply, provider: string, options?: LinkAccountOptions): Promise<void>;
}
