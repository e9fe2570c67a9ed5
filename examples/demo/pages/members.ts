import type { UserRecord } from "../database.ts";
import { codeBlock } from "./code.ts";
import { type Html, html } from "./html.ts";
import { displayName, layout, type View } from "./layout.ts";

const GUARD = `await app.register(async (members) => {
  members.addHook("onRequest", requireSession(config));
  members.get("/protected", showProtectedPage);
});
`;

/** The page that only signed-in users get to see. */
export function protectedPage(view: View): Html {
  return layout(
    view,
    "Protected",
    html`
      <p class="eyebrow">Protected</p>
      <h1>Come in, ${view.session && displayName(view.session)}.</h1>
      <p class="lead">This page is rendered only when the request carries a session.</p>
      <figure class="quote">
        <blockquote>The Analytical Engine weaves algebraical patterns just as the Jacquard loom weaves flowers and leaves.</blockquote>
        <figcaption>Ada Lovelace, Note A, 1843</figcaption>
      </figure>
      <p
        class="actions"><a class="button quiet" href="/passkeys">Add a passkey for next time</a> <a class="button quiet" href="/devices">See your devices</a></p>
      <h2>What guards it</h2>
      ${codeBlock(GUARD, "The guard of this page")}
    `,
  );
}

export interface CookieSize {
  readonly name: string;
  readonly bytes: number;
}

/** The session as the server sees it: what getSession() gave, and what it came from. */
export function sessionPage(view: View, cookies: readonly CookieSize[], record: UserRecord | null): Html {
  return layout(
    view,
    "Session",
    html`
      <h1>The session, as the server sees it</h1>
      <p class="lead">${view.session
        ? "This request carries one."
        : "This request carries none: getSession() gave null."}</p>
      <h2><code>await getSession(request, config)</code></h2>
      ${codeBlock(JSON.stringify(view.session, null, 2), "The session")}
      <div class="columns">
        <section>
          <h2>Cookies of this request</h2>
          ${cookies.length > 0 ? cookieTable(cookies) : html`<p>None.</p>`}
        </section>
        <section>
          <h2>In the database</h2>
          ${record ? recordFacts(record) : html`<p>You are not signed in, so there is no user to look up.</p>`}
        </section>
      </div>
    `,
  );
}

const cookieTable = (cookies: readonly CookieSize[]) =>
  html`
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" class="number">Bytes</th>
        </tr>
      </thead>
      <tbody>${cookies.map(({ name, bytes }) =>
        html`
          <tr>
            <td><code>${name}</code></td>
            <td class="number">${bytes}</td>
          </tr>
        `
      )}</tbody>
    </table>
  `;

const recordFacts = ({ user, accounts }: UserRecord) =>
  html`
    <dl class="facts">
      <dt>Id</dt>
      <dd><code>${user.id}</code></dd>
      <dt>Name</dt>
      <dd>${user.name ?? "–"}</dd>
      <dt>E-mail</dt>
      <dd>${user.email ?? "–"}</dd>
      <dt>Verified</dt>
      <dd>${user.emailVerified?.toISOString() ?? "not yet"}</dd>
      <dt>Accounts</dt>
      <dd>${accounts.length > 0
        ? accounts.map(({ provider, providerAccountId }) =>
          html`
            <code>${provider}: ${providerAccountId}</code>
          `
        )
        : "none linked"}</dd>
    </dl>
  `;
