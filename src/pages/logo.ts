/** The logo of a provider on its button. */
import { html, type SafeHtml } from "@remix-run/html-template";
import type { PageView, ProviderView } from "./types.ts";
import { lazyPattern } from "../utils/later.ts";

/** The logo, or a tile with the first letter of the name. */
export function providerLogo({ brand, name, type, logo }: ProviderView, { assets }: PageView): SafeHtml {
  if (logo !== undefined) return html`<img class="mark" src="${logo}" alt="" width="20" height="20">`;
  if (type === "webauthn") {
    return html`
      <svg class="mark line" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
        <circle cx="9" cy="8" r="4" />
        <path d="M2.5 20.5v-1a6.5 6.5 0 0 1 9-6" />
        <circle cx="17.5" cy="11.5" r="2.5" />
        <path d="M17.5 14v7m0-3h2.5" />
      </svg>
    `;
  }
  if (assets.hasLogo(brand)) {
    const address = `${assets.address("logos.svg")}#${brand}`;
    return html`
      <svg class="mark" viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
        <use href="${address}" />
      </svg>
    `;
  }
  const [letter] = grapheme().exec(name) ?? ["?"];
  return html`<span class="mark tile" aria-hidden="true">${letter.toUpperCase()}</span>`;
}

/** A letter or a digit, with its marks. */
const grapheme = lazyPattern(String.raw`[\p{L}\p{N}]\p{M}*`, "u");
