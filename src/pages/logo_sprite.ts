/** The logos of the configured providers, in one SVG file. */
import { unpack } from "../utils/unpack.ts";
import { contrast, luminanceOf } from "./colour.ts";

export interface LogoSprite {
  /** An SVG document with a `symbol` for each logo, by its id. */
  readonly svg: string;
  readonly css: string;
  /** The ids that there is a logo of. */
  readonly ids: ReadonlySet<string>;
}

/** Makes the file. What is not asked for is not in it. */
export async function logoSprite(wanted: readonly string[]): Promise<LogoSprite> {
  if (wanted.length === 0) return { svg: "", css: "", ids: new Set() };
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
