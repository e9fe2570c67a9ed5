/** What each page is given, and what all pages are rendered with. */
import type { SafeHtml } from "@remix-run/html-template";
import type { Language } from "./language.ts";
import type { LanguageName } from "./language_choice.ts";
import type { PageLinks, PagePanel } from "../types.ts";
import type { AssetAddresses } from "./assets.ts";
import type { CodeError, PageError } from "./page_error.ts";

export type Page =
  & (
    | SignInPage
    | ErrorPage
    | { readonly kind: "addPasskey"; readonly provider: ProviderView } & Flow
    /** For a user who is signed in already. `returnUrl` is where a sign-out leads. */
    | { readonly kind: "signedIn"; readonly returnUrl: string; readonly name: string | undefined } & Flow
    /** Asks whether to sign out. `callbackUrl` is where a user goes who stays. */
    | { readonly kind: "signOut"; readonly returnUrl: string } & Flow
    | { readonly kind: "signedOut" }
    | VerifyRequestPage
    | ConfirmPage
    /** Takes the browser on from a form of ours, to a provider by its name, or to a host. */
    | { readonly kind: "redirect"; readonly url: string; readonly to: string }
  )
  & {
    /** What an address of the language menu has before `lang`; without it there is none. */
    readonly menuQuery?: string | undefined;
  };

export type PageOf<Kind extends Page["kind"]> = Extract<Page, { kind: Kind }>;

/** What forms send. */
interface Flow {
  /** `undefined` if CSRF tokens are switched off. */
  readonly csrfToken: string | undefined;
  /** Where the browser goes afterwards. */
  readonly callbackUrl: string | undefined;
}

export interface SignInPage extends Wait, Flow {
  /** On "signInAgain" a user who is signed in does so again. */
  readonly kind: "signIn" | "signInAgain";
  readonly providers: readonly ProviderView[];
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

export interface ProviderView {
  readonly id: string;
  /** The id that the provider's factory gave it, which its logo goes by. */
  readonly brand: string;
  readonly name: string;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  readonly type: string;
  readonly fields: readonly FieldView[];
  /** Whether passkeys are offered in the fields of the page (conditional UI). */
  readonly conditional: boolean;
  /** Whether a new user may register a passkey. */
  readonly registers?: boolean;
  /** The address of a logo that the application chose. */
  readonly logo?: string | undefined;
}

export interface FieldView {
  readonly name: string;
  /** What the application calls it. */
  readonly label?: string | undefined;
  /** Further attributes, such as `type` and `placeholder`; `true` for one without a value. */
  readonly attributes: Readonly<Record<string, string | true>>;
}

interface VerifyRequestPage extends Partial<Flow> {
  readonly kind: "verifyRequest";
  /** Where the code of the mail is posted to, a path; `undefined` if this browser cannot use one. */
  readonly action?: string | undefined;
  /** Why a code did not sign in. */
  readonly error?: CodeError | undefined;
}

/** What a mailed sign-in link opens: only its form signs in. */
interface ConfirmPage extends Partial<Flow> {
  readonly kind: "confirm";
  /** Where the form is posted to, a path. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly email?: string | undefined;
  /** Whether a script posts the form at once. */
  readonly automatic: boolean;
}

interface ErrorPage extends Wait, Partial<Flow> {
  readonly kind: "error";
  readonly error: PageError;
  /** Where a link leads to sign in again; without one to the built-in page. */
  readonly signInUrl?: string | undefined;
  /** The provider of a sign-in that came back too late: its form begins it again. */
  readonly again?: ProviderView | undefined;
  /** Its id. */
  readonly failed?: string | undefined;
  readonly email?: string | undefined;
}

export interface PageView {
  readonly language: Language;
  readonly languages?: readonly LanguageName[];
  /** The nonces of the `Content-Security-Policy` header. */
  readonly nonce: Readonly<Record<"script" | "style", string>>;
  /** The mount path, percent-encoded, without a trailing slash. */
  readonly mountPath: string;
  /** The host that users see, with its port. */
  readonly site: string;
  readonly look: Look;
  readonly assets: AssetAddresses;
}

export interface Look {
  readonly logo: string | undefined;
  readonly darkLogo?: string | undefined;
  readonly favicon?: string | undefined;
  readonly themeColor?: string | undefined;
  readonly panel?: PagePanel | undefined;
  readonly links?: PageLinks;
  /** The address of a stylesheet of the application. */
  readonly style: string | undefined;
  readonly colorScheme: "auto" | "dark" | "light";
  readonly rememberMe?: boolean;
}

/** What a page has in the document that all pages share. */
export interface PageContent {
  readonly title: string;
  readonly main: SafeHtml;
  readonly head?: SafeHtml | undefined;
}
