/** The logos of the configured providers, in one SVG file. */
import { unpack } from "../utils/unpack.ts";
import { contrast, luminanceOf } from "./colour.ts";

/** The logos, and their colours. */
export interface LogoSprite {
  /** An SVG document with a `symbol` for each logo, by its id. */
  readonly svg: string;
  /** Rules that give each logo its colour. */
  readonly css: string;
  /** The ids that there is a logo of. */
  readonly ids: ReadonlySet<string>;
}

/** Makes the file. What is not asked for is not in it. */
export async function logoSprite(wanted: readonly string[]): Promise<LogoSprite> {
  if (wanted.length === 0) return { svg: "", css: "", ids: new Set() };
  const { LOGOS } = await import("./logos.ts");
  const logos = unpack(LOGOS).split("\n")
    .map((line) => /^(\S+) (\S+) (.+)$/.exec(line)!)
    .filter(([, id]) => wanted.includes(id!));
  const symbols = logos.map(([, id, , path]) =>
    `<symbol id="${id}" viewBox="0 0 24 24"><path d="${path}"/></symbol>`
  );
  return {
    svg: `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>`,
    css: logos.map(([, id, colour]) => colourRules(id!, colour!)).join(""),
    ids: new Set(logos.map(([, id]) => id!)),
  };
}

/** The luminance of the cards in `style.css.ts`. */
const CARD = { light: 1, dark: 0.012 };

/** The least contrast of a logo with its card (WCAG 2.2, 1.4.11). Others have the colour of the text. */
const LEAST_CONTRAST = 3;

function colourRules(id: string, colour: string): string {
  const luminance = luminanceOf(colour);
  const seen = (card: number) => contrast(luminance, card) >= LEAST_CONTRAST ? `#${colour}` : "currentColor";
  return `[data-brand="${id}"]{--mark-light:${seen(CARD.light)};--mark-dark:${seen(CARD.dark)}}\n`;
}
