/** The logos of the configured providers, in one SVG file. */
import { unpack } from "../utils/unpack.ts";
import { contrast, luminanceOf } from "./colour.ts";

/** Makes the file, with a `symbol` for each of the logos that are asked for, by its id. */
export async function logoSprite(wanted: readonly string[]) {
  if (wanted.length === 0) return { svg: "", css: "", ids: new Set<string>() };
  const { LOGOS } = await import("./logos.ts");
  const logos = unpack(LOGOS).split("\n")
    .map((line) => line.split("\t") as Logo)
    .filter(([id]) => wanted.includes(id));
  const symbols = logos.map(([id, , viewBox, elements]) =>
    `<symbol id="${id}" viewBox="${viewBox}">${elements}</symbol>`
  );
  return {
    svg: `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>`,
    css: logos.map(([id, colour]) => colour === "" ? "" : colourRules(id, colour)).join(""),
    ids: new Set(logos.map(([id]) => id)),
  };
}

/** What has no colour of its own gets that of the logo, else of the text. */
type Logo = [id: string, colour: string, viewBox: string, elements: string];

/** The luminance of the cards in `style.css.ts`. */
const CARD = { light: 1, dark: 0.012 };

/**
 * The least contrast of a logo with its card. Others have the colour of the text. What a brand is known by needs none
 * (WCAG 2.2, 1.4.11), but has to be seen.
 */
const LEAST_CONTRAST = { light: 1.8, dark: 3 };

function colourRules(id: string, colour: string): string {
  const luminance = luminanceOf(colour);
  const seen = (scheme: keyof typeof CARD) =>
    contrast(luminance, CARD[scheme]) >= LEAST_CONTRAST[scheme] ? `#${colour}` : "currentColor";
  return `[data-brand="${id}"]{--mark-light:${seen("light")};--mark-dark:${seen("dark")}}\n`;
}
