/** The drawing above the title of a page. It says nothing that the text does not say. */
import { html, type SafeHtml } from "@remix-run/html-template";

/** Paths in a square of 24. */
const PATHS = {
  error: "M12 8v5m0 3.2v.1M12 3.5 21 19.5H3z",
  mail: "M3.5 6h17v12h-17zM4 6.5l8 6.5 8-6.5",
  signOut: "M14 4.5H5.5v15H14M10 12h10m-3.5-3.5L20 12l-3.5 3.5",
  confirm: "M4.5 12.5l5 5 10-11",
};

/** A drawing for a page. */
export function icon(name: keyof typeof PATHS): SafeHtml {
  return html`
    <p class="icon" aria-hidden="true">
      <svg class="line" viewBox="0 0 24 24" width="24" height="24">
        <path d="${PATHS[name]}" />
      </svg>
    </p>
  `;
}
