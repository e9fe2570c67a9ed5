/** The drawing above the title of a page. It says nothing that the text does not say. */
import { html, type SafeHtml } from "@remix-run/html-template";

/** Paths in a square of 24. */
const PATHS = {
  error: "M12 8v5m0 3.2v.1M12 3.5 21 19.5H3z",
  mail: "M3.5 6h17v12h-17zM4 6.5l8 6.5 8-6.5",
  signOut: "M14 4.5H5.5v15H14M10 12h10m-3.5-3.5L20 12l-3.5 3.5",
  confirm: "M4.5 12.5l5 5 10-11",
  language: "M12 3a9 9 0 0 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c6 6 6 12 0 18-6-6-6-12 0-18",
};

/** A drawing for a page. */
export function icon(name: keyof typeof PATHS): SafeHtml {
  return html`<p class="icon" aria-hidden="true">${drawing(name, 24)}</p>`;
}

/** The drawing alone, in this size. */
export function drawing(name: keyof typeof PATHS, size: number): SafeHtml {
  return html`
    <svg class="line" viewBox="0 0 24 24" width="${size}" height="${size}" aria-hidden="true">
      <path d="${PATHS[name]}" />
    </svg>
  `;
}
