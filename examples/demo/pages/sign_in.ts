import { type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { authForm, displayName, layout, type View } from "./layout.ts";

/** What Auth.js reports in `?error=`, in words. */
const ERRORS = new Map([
  ["CredentialsSignin", "That user name and password do not belong together."],
  [
    "OAuthAccountNotLinked",
    "The user with this e-mail address has another sign-in method. Sign in with that one first.",
  ],
  ["AccountNotLinked", "This passkey belongs to another user. Sign out first."],
  ["OAuthCallbackError", "The sign-in was cancelled, or the provider refused it."],
  ["EmailSignin", "The e-mail could not be sent. Is the address right?"],
  ["MissingCSRF", "This form was out of date. Please try again."],
]);

export interface SignInQuery {
  readonly error?: string;
  readonly callbackUrl?: string;
}

/** The sign-in page of the demo: forms and a script for the plugin's own routes. */
export function signInPage(view: View, { error, callbackUrl }: SignInQuery): Html {
  return layout(
    view,
    "Sign in",
    html`
      <section class="panel narrow">
        <h1>Sign in</h1>
        ${error && problem(error)}
        ${view.session?.user && html`
          <p
            class="notice">You are signed in as <strong>${displayName(
              view.session,
            )}</strong>. Another sign-in method will be added to the same user, unless it belongs to another one.</p>
        `}

        ${authForm(
          "/auth/signin/local",
          html`<button class="wide quiet" disabled>${ICONS.openid} Continue with Loopback ID</button>`,
          callbackUrl,
        )}
        <p class="hint">There, <kbd>grace</kbd> / <kbd>hopper</kbd> will do.</p>
        ${passkeyButton(callbackUrl)}

        <h2 class="divider">or with a password</h2>
        ${authForm("/auth/callback/credentials", passwordFields, callbackUrl)}

        <h2 class="divider">or with a link by e-mail</h2>
        ${authForm("/auth/signin/nodemailer", emailFields, callbackUrl)}
      </section>
    `,
    "/assets/passkeys.js",
  );
}

function problem(error: string): Html {
  if (error === "SessionRequired") {
    return html`<p class="notice" role="status">That page is for signed-in users. Sign in, and you will be taken there.</p>`;
  }
  return html`<p class="notice bad" role="alert">${
    ERRORS.get(error) ?? "That did not work. Please try again."
  }</p>`;
}

const passkeyButton = (callbackUrl = "") =>
  html`
    <form data-passkey="authenticate">
      <input type="hidden" name="callbackUrl" value="${callbackUrl}">
      <button class="wide quiet" disabled>${ICONS.passkey} Sign in with a passkey</button>
      <p class="hint" role="status">Once signed in, you can <a href="/passkeys">add one</a>.</p>
    </form>
  `;

// "webauthn": browsers offer passkeys where they offer user names.
const passwordFields = html`
  <label>User name <input name="username" autocomplete="username webauthn" autocapitalize="none" spellcheck="false" required></label>
  <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
  <p class="hint">In this demo: <kbd>ada</kbd> / <kbd>lovelace</kbd></p>
  <button class="wide" disabled>${ICONS.password} Sign in with the password</button>
`;

const emailFields = html`
  <label>E-mail <input name="email" type="email" autocomplete="email" placeholder="you@example.com" required></label>
  <p class="hint">Any address: the message stays on this machine, in the <a href="/inbox">inbox</a>.</p>
  <button class="wide quiet" disabled>${ICONS.mail} E-mail me a link</button>
`;

/** Asks before signing out: where `/auth/signout` leads when it is opened as a page. */
export function signOutPage(view: View): Html {
  return layout(
    view,
    "Sign out",
    html`
      <section class="panel narrow">
        <h1>Sign out</h1>
        <p>The session ends in this browser. The data stays where it is.</p>
        ${authForm("/auth/signout", html`<button class="wide" disabled>Sign out</button>`, "/")}
      </section>
    `,
  );
}
