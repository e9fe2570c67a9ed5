import type { PasskeyRow } from "../database.ts";
import { type Html, html } from "./html.ts";
import { ICONS } from "./icons.ts";
import { layout, type View } from "./layout.ts";

/** A signed-in user's passkeys: what the server knows of each, and buttons to add and remove them. */
export function passkeysPage(view: View, passkeys: readonly PasskeyRow[]): Html {
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

const none =
  html`<p class="notice">None yet. Your phone, your computer and a security key can each have one.</p>`;

function passkeyItem(passkey: PasskeyRow): Html {
  const { credentialID, credentialDeviceType, counter, transports } = passkey;
  const kind = credentialDeviceType === "multiDevice" ? "Synchronised between devices" : "On one device";
  const facts = [transports?.replaceAll(",", ", "), `counter ${counter}`].filter(Boolean).join("; ");
  return html`
    <li class="item">
      <span class="tile">${ICONS.passkey}</span>
      <span class="grow"><strong>${kind}</strong> <span>${facts}</span> <code>${credentialID}</code></span>
      <button class="quiet" data-remove="${credentialID}" aria-label="Remove passkey ${credentialID.slice(
        0,
        8,
      )}"
        disabled>Remove</button>
    </li>
  `;
}
