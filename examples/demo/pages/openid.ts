import { PEOPLE, type Person, type ProviderName } from "../people.ts";
import { type Content, type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { page } from "./layout.ts";

/** A page of the OpenID Provider: the same style, in a colour of its own, since it is another site. */
function providerPage(name: ProviderName, content: Content): Html {
  return page(
    name,
    html`
      <header class="bar"><span class="brand"><span class="tile">${ICONS
        .openid}</span> ${name}</span></header>
      <main>
        <section class="panel narrow">${content}</section>
      </main>
      <footer>An OpenID Provider that the demo runs for itself.</footer>
    `,
    { className: "provider" },
  );
}

/** Asks who it is. */
export function loginPage(
  at: ProviderName,
  { uid, failed = false }: { uid: string; failed?: boolean },
): Html {
  return providerPage(
    at,
    html`
      <h1>Who are you?</h1>
      <p>Sign in to go on to <strong>Fastify demo</strong>.</p>
      ${failed &&
        html`<p class="notice bad" role="alert">That login and password do not belong together.</p>`}
      <form method="post" action="/interaction/${uid}/login">
        <label>Login <input name="login" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus></label>
        <label>Password <input name="password" type="password" autocomplete="current-password" required></label>
        <p class="hint">Here: ${PEOPLE.filter((person) => person.at === at).map(loginHint)}</p>
        <button class="wide">Sign in</button>
      </form>
      ${cancelForm(uid)}
    `,
  );
}

const loginHint = ({ login, password }: Person) =>
  html`
    <span class="together"><kbd>${login}</kbd> / <kbd>${password}</kbd></span>
  `;

/** Asks whether the application may know. */
export function consentPage(at: ProviderName, { uid, name }: { uid: string; name: string }): Html {
  return providerPage(
    at,
    html`
      <h1>${name}, is this all right?</h1>
      <p><strong>Fastify demo</strong> would like to know</p>
      <ul class="claims">
        <li>your name</li>
        <li>your e-mail address</li>
      </ul>
      <form method="post" action="/interaction/${uid}/consent"><button class="wide">Allow</button></form>
      ${cancelForm(uid)}
    `,
  );
}

const cancelForm = (uid: string) =>
  html`<form method="post" action="/interaction/${uid}/cancel"><button class="wide quiet">Cancel</button></form>`;

/** What the provider answers when it cannot go on. */
export function providerErrorPage(at: ProviderName, error: string, description: string): Html {
  return providerPage(
    at,
    html`
      <h1>This cannot go on</h1>
      <p>${description}</p>
      <p class="hint">Go back to the demo and start again. <code>${error}</code></p>
    `,
  );
}
