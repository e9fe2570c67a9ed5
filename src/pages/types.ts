/** What each page is given, and what all pages are rendered with. */
import type { SafeHtml } from "@remix-run/html-template";
import type { Language } from "./language.ts";
import type { LanguageName } from "./language_choice.ts";
import type { PageLinks, PagePanel } from "../types.ts";
import type { CodeError, PageError } from "./page_error.ts";

/** A page, by its `kind`, with what is on it. */
export type Page =
  & (
    | SignInPage
    | AddPasskeyPage
    | SignedInPage
    | SignedOutPage
    | SignOutPage
    | VerifyRequestPage
    | ConfirmPage
    | RedirectPage
    | ErrorPage
  )
  & {
    /** What an address of the language menu has before `lang`; without it there is none. */
    readonly menuQuery?: string | undefined;
  };

/** The sign-in page. */
export interface SignInPage extends Wait {
  /** On "stepUp" a user who is signed in does so again. */
  readonly kind: "signIn" | "stepUp";
  readonly providers: readonly ProviderView[];
  /** `undefined` if CSRF tokens are switched off. */
  readonly csrfToken: string | undefined;
  /** Where the browser goes after the sign-in. */
  readonly callbackUrl: string | undefined;
  /** Why a sign-in failed. */
  readonly error?: PageError | undefined;
  /** The name of the user who signs in again. */
  readonly name?: string | undefined;
  /** The parameters of authorization requests. */
  readonly authorization?: string;
  /** What the page was asked for with, which its forms send: one that fails leads to the same page. */
  readonly asked?: string | undefined;
  /** The id of the provider whose form failed. */
  readonly failed?: string | undefined;
  /** What was typed there to say who signs in. */
  readonly identifier?: string | undefined;
  /** An e-mail address to begin with. */
  readonly email?: string | undefined;
  /** The id of the provider that the browser used last. */
  readonly lastUsed?: string | undefined;
  /** "false" if the user chose not to be remembered, and a form failed. */
  readonly rememberMe?: "false" | undefined;
}

/** How long a user has to wait for another try. */
export interface Wait {
  /** In seconds. */
  readonly wait?: number | undefined;
  /** The same for the script. */
  readonly seconds?: string;
  /** The same in words. */
  readonly when?: string;
}

/** A provider on the sign-in page. */
export interface ProviderView {
  readonly id: string;
  /** The id that the provider's factory gave it, which its logo goes by. */
  readonly brand: string;
  readonly name: string;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  readonly type: string;
  /** What its form asks for. */
  readonly fields: readonly FieldView[];
  /** Whether passkeys are offered in the fields of the page (conditional UI). */
  readonly conditional: boolean;
  /** Whether a new user may register a passkey. */
  readonly registers?: boolean;
  /** The address of a logo that the application chose. */
  readonly logo?: string | undefined;
}

/** A field of a form. */
export interface FieldView {
  readonly name: string;
  /** What the application calls it. */
  readonly label?: string | undefined;
  /** Further attributes, such as `type` and `placeholder`; `true` for one without a value. */
  readonly attributes: Readonly<Record<string, string | true>>;
}

/** The page that offers to add a passkey. */
export interface AddPasskeyPage {
  readonly kind: "addPasskey";
  /** The provider for passkeys. */
  readonly provider: ProviderView;
  readonly csrfToken: string | undefined;
  readonly callbackUrl: string | undefined;
}

/** The page for a user who is signed in already. */
export interface SignedInPage {
  readonly kind: "signedIn";
  readonly csrfToken: string | undefined;
  readonly callbackUrl: string | undefined;
  /** Where a sign-out leads. */
  readonly returnUrl: string;
  readonly name: string | undefined;
}

/** The page that asks whether to sign out. */
export interface SignOutPage {
  readonly kind: "signOut";
  readonly csrfToken: string | undefined;
  /** Where a user goes who stays. */
  readonly callbackUrl: string | undefined;
  /** Where the sign-out leads. */
  readonly returnUrl: string;
}

/** The page that says that the user has signed out. */
export interface SignedOutPage {
  readonly kind: "signedOut";
}

/** The page that says that a sign-in link was mailed. */
export interface VerifyRequestPage {
  readonly kind: "verifyRequest";
  /** Where the code of the mail is posted to, a path; `undefined` if this browser cannot use one. */
  readonly action?: string | undefined;
  readonly csrfToken?: string | undefined;
  /** Why a code did not sign in. */
  readonly error?: CodeError | undefined;
}

/** The page that a mailed sign-in link opens: only its form signs in. */
export interface ConfirmPage {
  readonly kind: "confirm";
  /** The address that the form is posted to, a path. */
  readonly action: string;
  /** The hidden fields of the form. */
  readonly fields: Readonly<Record<string, string>>;
  /** The address that the link was mailed to. */
  readonly email?: string | undefined;
  /** Whether a script posts the form at once. */
  readonly automatic: boolean;
  /** Where the browser goes after the sign-in. */
  readonly callbackUrl?: string | undefined;
}

/** The page that takes the browser on from a form of ours, such as to a provider. */
export interface RedirectPage {
  readonly kind: "redirect";
  readonly url: string;
  /** What is at the URL: a provider's name or a host. */
  readonly to: string;
}

/** The error page. */
export interface ErrorPage extends Wait {
  readonly kind: "error";
  readonly error: PageError;
  /** Where a link leads to go on. */
  readonly callbackUrl?: string | undefined;
  /** Where a link leads to sign in again; without one to the built-in page. */
  readonly signInUrl?: string | undefined;
  /** The provider of a sign-in that came back too late: its form begins it again. */
  readonly again?: ProviderView | undefined;
  /** Its id. */
  readonly failed?: string | undefined;
  readonly csrfToken?: string | undefined;
  /** The e-mail address to begin with. */
  readonly email?: string | undefined;
}

/** What every page is rendered with. */
export interface PageView {
  readonly language: Language;
  /** The languages of the menu. */
  readonly languages?: readonly LanguageName[];
  /** The nonces of the `Content-Security-Policy` header. */
  readonly nonce: Nonce;
  /** The mount path, percent-encoded, without a trailing slash. */
  readonly mountPath: string;
  /** The host that users see, with its port. */
  readonly site: string;
  /** The look of the pages. */
  readonly look: Look;
  readonly assets: AssetAddresses;
}

/** Allows inline elements. */
export interface Nonce {
  readonly script: string;
  readonly style: string;
}

/** What pages load. */
export type AssetName = "style.css" | "logos.svg" | "page.js" | "passkey.js";

/** Where pages find the assets. */
export interface AssetAddresses {
  /** A path with a content hash; `undefined` for what this configuration does not need. */
  readonly address: (name: AssetName) => string | undefined;
  /** Whether `logos.svg` has this logo. */
  readonly hasLogo: (brand: string) => boolean;
}

/** What the application chose for all pages. */
export interface Look {
  /** The address of a logo. */
  readonly logo: string | undefined;
  readonly darkLogo?: string | undefined;
  readonly favicon?: string | undefined;
  /** A colour, as in CSS. */
  readonly themeColor?: string | undefined;
  readonly panel?: PagePanel | undefined;
  readonly links?: PageLinks;
  /** The address of a stylesheet of the application. */
  readonly style: string | undefined;
  readonly colorScheme: "auto" | "dark" | "light";
  /** Whether users choose to be remembered. */
  readonly rememberMe?: boolean;
}

/** What a page has in the document that all pages share. */
export interface PageContent {
  readonly title: string;
  readonly main: SafeHtml;
  /** Elements for the head. */
  readonly head?: SafeHtml | undefined;
}
