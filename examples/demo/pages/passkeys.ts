import type { ListedPasskey } from "fastify-authjs";
import { type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { layout, type View } from "./layout.ts";

/** A signed-in user's passkeys: what the server knows of each, and buttons to add and remove them. */
export function passkeysPage(view: View, passkeys: readonly ListedPasskey[]): Html {
  return layout(
    view,
    "Passkeys",
    html`
      <h1>Your passkeys</h1>
      <p
        class="lead">With a passkey you sign in by unlocking your device. It keeps the private half of a key, this server the public one.</p>
      ${passkeys.length > 0 ? html`<ul class="links">${passkeys.map(passkeyItem)}</ul>` : none}
      <form data-passkey>
        <p class="actions"><button class="large" disabled>${ICONS.passkey} Add a passkey</button></p>
        <p class="hint" role="status"></p>
      </form>
    `,
    "/assets/passkeys.js",
  );
}

const none = html`<p class="notice">None yet. Your phone, your computer and a security key can each have one.</p>`;

function passkeyItem({ id, name = "A passkey", synced, transports }: ListedPasskey): Html {
  const kind = synced ? "Synchronised between devices" : "On one device";
  return html`
    <li class="item">
      <span class="tile">${ICONS.passkey}</span>
      <span class="grow"><strong>${name}</strong> <span>${[kind, ...transports].join(
        ", ",
      )}</span> <code>${id}</code></span>
      <button class="quiet" data-remove="${id}" aria-label="Remove passkey ${id.slice(0, 8)}"
        disabled>Remove</button>
    </li>
  `;
}
