import type { Message } from "../mail.ts";
import { type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { layout, type View } from "./layout.ts";

/** Everything that was delivered, newest first. */
export function inboxPage(view: View, messages: readonly Message[]): Html {
  return layout(
    view,
    "Inbox",
    html`
      <h1>Inbox</h1>
      <p class="lead">What the mail server on this machine took, for whichever address.</p>
      ${messages.length > 0 ? html`<ol class="links">${messages.map(inboxRow)}</ol>` : emptyInbox}
    `,
  );
}

const inboxRow = ({ id, to, subject, received }: Message) =>
  html`
    <li><a href="/inbox/${id}"><span class="tile">${ICONS
      .mail}</span><span><strong>${subject}</strong> <span>to ${to}</span></span><time datetime="${received
      .toISOString()}">${timeOf(received)}</time></a></li>
  `;

const emptyInbox = html`
  <div class="panel centred">
    <span class="tile large">${ICONS.mail}</span>
    <p>Nothing has arrived yet. Ask for a link on the sign-in page.</p>
    <p class="actions"><a class="button" href="/auth/signin?callbackUrl=%2F">Sign in by e-mail</a></p>
  </div>
`;

/** One message: its HTML in a frame of its own, and its text. */
export function messagePage(view: View, message: Message): Html {
  const { id, from, to, subject, received, text } = message;
  return layout(
    view,
    subject,
    html`
      <p><a href="/inbox">← Inbox</a></p>
      <article class="panel message">
        <h1>${subject}</h1>
        <dl class="facts">
          <dt>From</dt>
          <dd>${from}</dd>
          <dt>To</dt>
          <dd>${to}</dd>
          <dt>Received</dt>
          <dd><time datetime="${received.toISOString()}">${timeOf(received)}</time></dd>
        </dl>
        <iframe src="/inbox/${id}/html" title="The message"
          sandbox="allow-popups allow-popups-to-escape-sandbox"></iframe>
        <details>
          <summary>The same as text</summary>
          <pre class="text">${text}</pre>
        </details>
      </article>
    `,
  );
}

/** In the time of this machine, which is the reader's too. */
const timeOf = (date: Date) => date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
