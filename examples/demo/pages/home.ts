import { codeBlock } from "./code.ts";
import { type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { displayName, layout, type View } from "./layout.ts";

const SERVER = `import Fastify from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";

const config = { providers: [GitHub] };
const app = Fastify({ trustProxy: "127.0.0.1" });
await app.register(FastifyAuth(config), { prefix: "/auth" });

app.get("/me", (request) => getSession(request, config));
await app.listen({ port: 3000 });
`;

const WAYS = [
  [
    ICONS.password,
    "Password",
    "A form, a hashed password in the database, and your own function that checks it.",
  ],
  [
    ICONS.openid,
    "OpenID Connect",
    "The code flow with PKCE, state and nonce, at two real providers on this machine.",
  ],
  [
    ICONS.mail,
    "Magic link and code",
    "A mail over SMTP: its code, or its link, signs in once. The inbox is beside this page.",
  ],
  [
    ICONS.passkey,
    "Passkey",
    "A finger, a face or a security key: the server has the public half, and nothing to steal.",
  ],
] as const;

const PAGES = [
  [
    ICONS.lock,
    "/protected",
    "A page for signed-in users",
    "Without a session: to the sign-in page and back.",
  ],
  [ICONS.braces, "/api/me", "A JSON route for signed-in users", "Without a session: 401 for a program."],
  [ICONS.passkey, "/passkeys", "Your passkeys", "Add one, see what made it, remove it."],
  [ICONS.device, "/devices", "Your devices", "Where you are signed in; sign out there from here."],
  [
    ICONS.session,
    "/session",
    "The session, as the server sees it",
    "With its cookies and its rows in the database.",
  ],
  [ICONS.mail, "/inbox", "The inbox", "Every message that the mail server took."],
] as const;

/** The public page: what this is, and where to click. */
export function homePage(view: View): Html {
  return layout(
    view,
    "Auth.js for Fastify",
    html`
      <section class="hero">
        <div>
          <h1>Sign in four ways. <em>All of them real.</em></h1>
          <p class="lead">A Fastify server with Auth.js at <code>/auth</code>: every route of it came with one call.</p>
          ${view.session?.user ? welcome(displayName(view.session)) : invitation}
        </div>
        ${codeBlock(SERVER, "A server of ten lines")}
      </section>

      <h2>Four sign-in methods</h2>
      <ul class="cards">
        ${WAYS.map(([icon, name, text]) =>
          html`<li class="card"><span class="tile">${icon}</span><h3>${name}</h3><p>${text}</p></li>`
        )}
      </ul>

      <h2>Where to look</h2>
      <ul class="links">
        ${PAGES.map(([icon, path, name, text]) =>
          html`<li><a href="${path}"><span class="tile">${icon}</span><span><strong>${name}</strong> <span>${text}</span></span><code>${path}</code></a></li>`
        )}
      </ul>
    `,
  );
}

const invitation = html`
  <p class="actions">
    <a class="button large" href="/auth/signin?callbackUrl=%2F">Sign in</a>
    <a class="button large quiet" href="/protected">Try a protected page</a>
  </p>
`;

const welcome = (name: string) =>
  html`
    <p class="notice good" role="status">You are signed in as <strong>${name}</strong>.</p>
    <p class="actions">
      <a class="button large" href="/protected">Open the protected page</a>
      <a class="button large quiet" href="/session">See your session</a>
    </p>
  `;
