import type { Session } from "fastify-authjs";
import type { Message } from "../mail.ts";
import { type Content, type Html, html } from "./html.ts";

/** What every page knows of the request that asked for it. */
export interface View {
  readonly session: Session | null;
  /** The newest message comes first. */
  readonly inbox: readonly Message[];
  /** Where this page is, so that signing in can come back to it. */
  readonly path: string;
}

const NAVIGATION = [
  ["/protected", "Protected"],
  ["/passkeys", "Passkeys"],
  ["/devices", "Devices"],
  ["/session", "Session"],
  ["/inbox", "Inbox"],
] as const;

/** A whole page of the demo: header, content, footer. */
export function layout(view: View, title: string, content: Content, script?: string): Html {
  return page(
    title,
    html`
      <header class="bar">
        <a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="28" height="28"> Auth.js for Fastify</a>
        <nav aria-label="Pages">
          ${NAVIGATION.map(([path, name]) =>
            html`<a href="${path}" ${path === view.path && html`aria-current="page"`}>${name}</a>`
          )}
        </nav>
        ${view.session?.user ? signedIn(view.session) : signInLink(view.path)}
      </header>
      ${!view.path.startsWith("/inbox") && inboxPanel(view.inbox)}
      <main>${content}</main>
      <footer>Everything here runs on this machine: application, OpenID Providers, mail server, database.</footer>
      <noscript><p class="notice">Signing out and adding passkeys needs JavaScript here: a script of twelve lines fetches the CSRF token.</p></noscript>
    `,
    { ...(script && { script }) },
  );
}

/** The latest messages with what signs in: the code for the page that asked, and the link for any browser. */
export function inboxPanel(inbox: readonly Message[]): Html {
  return html`
    <aside class="inbox" aria-label="Inbox">
      <h2>Inbox <a href="/inbox">all</a></h2>
      <ol aria-live="polite">${inbox.length === 0
        ? html`<li class="hint">No mail yet.</li>`
        : inbox.slice(0, 3).map(({ id, to, subject, text }) =>
          html`
            <li>
              <a href="/inbox/${id}">${to}</a>
              ${codeIn(subject)}
              <a class="button quiet" href="${linkIn(text)}" target="_blank">Open link</a>
            </li>
          `
        )}</ol>
    </aside>
  `;
}

const codeIn = (subject: string) => {
  const [code] = /\b\d{6}\b/.exec(subject) ?? [];
  return code !== undefined && html`<code>${code}</code>`;
};

const linkIn = (text: string) => /https?:\/\/\S+\/callback\/\S+/.exec(text)?.[0] ?? "/inbox";

/** The frame that the demo and its OpenID Provider have in common. */
export function page(title: string, body: Content, { className = "", script = "" } = {}): Html {
  return html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>${title}</title>
        <link rel="icon" href="/assets/icon.svg">
        <link rel="stylesheet" href="/assets/style.css">
        <script type="module" src="/assets/csrf.js"></script>
        <script type="module" src="/assets/inbox.js"></script>
        ${script && html`<script type="module" src="${script}"></script>`}
      </head>
      <body class="${className}">${body}</body>
    </html>
  `;
}

/** A form that posts to the plugin; the page's script puts the token in and lets its buttons go. */
export function authForm(action: string, content: Content, callbackUrl?: string): Html {
  return html`
    <form method="post" action="${action}">
      <input type="hidden" name="csrfToken">
      ${callbackUrl && html`<input type="hidden" name="callbackUrl" value="${callbackUrl}">`} ${content}
    </form>
  `;
}

/** The user's name; without one the address. */
export function displayName(session: Session): string {
  return session.user?.name ?? session.user?.email ?? "a user";
}

function signedIn(session: Session): Html {
  const name = displayName(session);
  return html`
    <div class="who">
      <span class="avatar" aria-hidden="true">${name.slice(0, 1).toUpperCase()}</span>
      <span class="name">${name}</span>
      ${authForm("/auth/signout", html`<button class="quiet" disabled>Sign out</button>`, "/")}
    </div>
  `;
}

function signInLink(path: string): Html {
  return html`<div class="who"><a class="button" href="/auth/signin?callbackUrl=${
    encodeURIComponent(path)
  }">Sign in</a></div>`;
}
