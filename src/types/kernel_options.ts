/** The options of the kernel: what the plugin does in every application. */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import type { EmailConfig } from "@auth/core/providers";
import type { PagesOptions } from "@auth/core/types";
import type { FeaturePages } from "../features/mod.ts";
import type { Texts } from "../pages/texts/texts.ts";
import type { LanguageRequest, Store } from "./records.ts";

/** The options of the kernel. */
export interface KernelOptions {
  /**
   * The public origin, such as `"https://app.example"`, in place of `AUTH_URL`. If users see the auth routes at another
   * path than Fastify, with that path: `"https://app.example/api/auth"` behind a proxy that removes `/api`.
   * @default that of `AUTH_URL`, else `request.protocol` and `request.host`
   */
  origin?: string;
  /**
   * Other origins whose pages may send the POSTs that sign in, sign out or update a session, such as that of a
   * single-page application: `["https://spa.example"]`. Scheme, host and port, without a path or wildcards. Every other
   * cross-site POST is refused, also from subdomains. To read the replies, such a page needs CORS headers
   * (`@fastify/cors` with `credentials: true`).
   * @default [] only the public origin
   */
  trustedOrigins?: readonly string[];
  /**
   * For the stable deployment of `redirectProxyUrl`, which requires it: the origins of the deployments that it passes
   * sign-ins on to, such as `["https://*.preview.example"]`, without a path. A `*` stands for letters, digits and
   * hyphens of one label, left of the last two labels. Anyone who gets such a name gets sign-in codes: use a domain
   * whose names only you give out.
   * @default [] none
   */
  redirectProxyOrigins?: readonly string[];
  /**
   * Ids of providers that may be reached without TLS if `NODE_ENV` is `production`, such as `["keycloak"]` for
   * `http://keycloak:8080/realms/staff` on a private network. An attacker who can read or change that traffic can then
   * sign in as any user of the provider; a warning names them at boot.
   * @default [] every provider is reached over https
   */
  insecureProviders?: readonly string[];
  /**
   * How long a request to a provider may take, in milliseconds, its body included; 0 for no limit.
   * @default 10_000
   */
  providerTimeout?: number;
  /**
   * How long a call of the adapter may take, in milliseconds; 0 for no limit.
   * @default 10_000
   */
  adapterTimeout?: number;
  /**
   * How large the session cookie of the "jwt" strategy may get, in bytes, with the names of its chunks: at most
   * 62,976, which are 16 cookies, and for which 0 stands. A sign-in whose session is larger fails with
   * `error=SessionTooLarge`; a read or an update that would exceed the limit leaves the cookie as it is. Either is
   * logged with the names of the largest claims.
   *
   * Browsers send the cookie with each request. Node refuses more than 16 KB of headers, nginx by default a header line
   * of more than 8 KB, and replies with more than 4 KB of headers. From 3.5 KB on there is a warning.
   * @default 8192
   */
  sessionCookieLimit?: number;
  /**
   * What several processes that serve the same users share, such as `redisStore()` of `fastify-authjs/redis`. One of
   * them refreshes a session in the `jwt` callback, and the others get the result and learn of a sign-out. If several
   * processes get one sign-in link at once, only one accepts it. A new user who signs in twice at once is created once.
   * A sign-in that broke off at one process can go on at another. One process needs no store, unless sessions are
   * `revocable`. While the store fails, sessions are read, and links used, without it.
   *
   * A process waits for `providerTimeout` (10 seconds if that is 0) for the one that refreshes, then goes on with the
   * session as it is. The lock of a process that died expires after twice that time.
   *
   * If sessions may be refreshed and several processes are known of, by `node:cluster` or PM2, a warning recommends a
   * store that they share. `false` silences that.
   * @default none
   */
  store?: Store | false;
  /**
   * Whether the `jwt` callback would refresh a token with these claims. The lock of `store` is acquired only then; the
   * store is also read when a session cookie is renewed.
   * @default always, so that each read acquires the lock
   */
  refreshDue?: (token: JWT) => boolean;
  /**
   * The name of the tenant that the configuration is for, which must stay the same: "acme". Sessions, cookies, CSRF
   * tokens and sign-in links are then valid for this tenant alone, also if others have the same secret, host and
   * database. Users who were signed in before it was set have to sign in again. A configuration that a function returns
   * for a request must have one.
   * @default none
   */
  tenant?: string;
  /**
   * Whether the signature of an ID token is verified at each sign-in with an OpenID Provider (OpenID Connect Core 1.0,
   * section 3.1.3.7): with a key that its discovery document names, or that is at the provider's `jwks_endpoint`, or
   * with the client secret if `client.id_token_signed_response_alg` is `HS256`, `HS384` or `HS512`. Without that
   * setting the algorithm is RS256, unless the document lists only others. The keys are kept for ten minutes. A sign-in
   * with a wrong signature fails with `error=Configuration`, and the log says why; one whose keys cannot be had is a
   * 503.
   *
   * If a provider publishes no keys, its ID tokens count without a signature, since they came over TLS from the token
   * endpoint, as that section allows. With `true` such a provider is refused. With `false` no signature is checked, and
   * the log warns.
   * @default verified, if the provider publishes keys
   */
  verifyIdTokens?: boolean;
  /**
   * Writes the mail with a sign-in link, in place of the built-in one. Not for a provider with a
   * `sendVerificationRequest` of its own, and not for Loops, which has templates.
   * @default a mail in the language of the request
   */
  emailMessage?: (params: EmailMessageParams) => EmailMessage | Promise<EmailMessage>;
}

/** Every text of the built-in pages and mails, in one language. */
export type PageTexts = Texts;

/** A mail, without its sender and recipient. */
export interface EmailMessage {
  /** The subject. */
  subject: string;
  /** For programs that show no HTML. */
  text: string;
  /** The HTML document. */
  html: string;
}

/**
 * What `sendVerificationRequest` of an e-mail provider is called with: that of `@auth/core`, and a code.
 *
 * @example
 * ```ts
 * import type { VerificationMailParams } from "fastify-authjs";
 *
 * const sendVerificationRequest = async ({ identifier, url, code }: VerificationMailParams) => {
 *   await Promise.resolve(`To ${identifier}: your code is ${code}. Or open ${url}`);
 * };
 * console.assert(sendVerificationRequest.length === 1);
 * ```
 */
export type VerificationMailParams = Parameters<EmailConfig["sendVerificationRequest"]>[0] & {
  /**
   * Six digits, which sign in the browser that asked for the mail, for ten minutes. Its page asks for them if this was
   * read, so a function that does not mail them leaves them alone.
   */
  readonly code?: string;
};

/** What a mail with a sign-in link is written from. */
export interface EmailMessageParams {
  /** The address that the mail goes to. */
  readonly identifier: string;
  /** The sign-in link. */
  readonly url: string;
  /**
   * Six digits, which sign in the browser that asked for the mail, for ten minutes. Its page asks for them if this or
   * `message` was read.
   */
  readonly code: string;
  /** When the link ends. */
  readonly expires: Date;
  /** The name of the site: `pages.siteName`, else the host of the link. */
  readonly site: string;
  /** The language of the user, as a language tag (BCP 47). */
  readonly language: string;
  /** The built-in mail, to change only a part of it. */
  readonly message: EmailMessage;
}

/** The pages of an application, and what the built-in pages and mails say. */
export interface FastifyAuthPages extends Partial<PagesOptions>, FeaturePages {
  /**
   * The page that a mailed sign-in link opens, if `emailConfirm` is on, with the `provider`, `token`, `email`,
   * `callbackUrl` and, if it is there, `rememberMe` of the link as its query. Its form posts all of them but
   * `provider`, and a `csrfToken`, to `<mount path>/callback/<provider>`.
   * @default a page that is built in
   */
  confirmEmail?: string;
  /**
   * A stylesheet for the built-in pages, loaded after their own: a path such as `"/auth.css"`, or a URL.
   * @default none
   */
  style?: string;
  /**
   * The name of the site, for the built-in pages and mails.
   * @default the host of the public origin
   */
  siteName?: string;
  /**
   * The language of the built-in pages and mails, as a language tag (BCP 47), or a function that chooses it for a
   * request and may return `undefined`, or a promise.
   * @default that of the menu, of `?ui_locales=`, else of `Accept-Language`, else English
   */
  language?: string | ((request: LanguageRequest) => string | undefined | Promise<string | undefined>);
  /**
   * Whether there is a menu of languages below the built-in pages. The choice is kept in a cookie for a year; a
   * function of `language` comes before it.
   * @default true, unless `language` is set
   */
  languageMenu?: boolean;
  /**
   * Whether users without a passkey are offered to add one after another sign-in, at most once in 30 days. It needs a
   * provider for passkeys, an `adapter` and the built-in sign-in page.
   * @default true
   */
  passkeyOffer?: boolean;
  /**
   * Texts that replace those of the built-in pages and mails, by language tag: `{ en: { "signIn.title": "Welcome" } }`.
   * A language that is not built in is added; texts that it lacks are those of its built-in language (`pt` for
   * `pt-BR`), else English.
   * @default {} the built-in texts
   */
  texts?: Readonly<Record<string, Partial<PageTexts>>>;
  /**
   * Links on the built-in pages, each a path or a URL. Their words are texts: `"link.signUp"` and so on.
   * @default {} none
   */
  links?: PageLinks;
  /**
   * The logo in dark mode, a path or a URL.
   * @default theme.logo
   */
  darkLogo?: string;
  /**
   * The icon of the built-in pages, a path or a URL.
   * @default what the browser finds at `/favicon.ico`
   */
  favicon?: string;
  /**
   * The colour of the browser around the built-in pages, as in CSS.
   * @default the background of the pages
   */
  themeColor?: string;
  /**
   * A panel beside the sign-in page on wide screens, with the texts `"panel.title"` and `"panel.text"`, and a picture.
   * @default none
   */
  panel?: PagePanel;
}

/** Links on the built-in pages. */
export interface PageLinks {
  /** Where a new user gets an account; shown on the sign-in page. */
  signUp?: string;
  /** Where a user gets another password; shown at the field for the password. */
  forgotPassword?: string;
  /** The terms of the site; shown below every page. */
  terms?: string;
  /** What the site does with personal data; shown below every page. */
  privacy?: string;
  /** Help with signing in; shown below every page. */
  help?: string;
}

/** The panel beside the sign-in page. */
export interface PagePanel {
  /** The address of a picture, which fills the panel. */
  image?: string;
}

/** How sessions are kept, and for how long. */
export type FastifyAuthSession = NonNullable<AuthConfig["session"]> & {
  /**
   * How many seconds a session lives after its last use if its user did not choose to be remembered. Its cookie ends
   * with the browser. A sign-in with `rememberMe=false` makes one, such as that of the built-in page if its check box
   * is not checked. `false` takes the check box away, and remembers everyone.
   * @default 43_200 (12 hours), at most `maxAge`
   */
  ephemeralMaxAge?: number | false;
};
