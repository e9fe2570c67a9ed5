/** The colours of the pages, as in `style.css.ts`, and the contrast of others. */
export const BRAND = "#4338ca";

export const LIGHT = {
  background: "#f6f5f3",
  card: "#ffffff",
  border: "#dcd9e0",
  text: "#1d1b20",
  muted: "#625e68",
} as const;

export const DARK = {
  background: "#121116",
  card: "#1c1a21",
  border: "#37343f",
  text: "#f1eff4",
  muted: "#aca7b5",
} as const;

/** The contrast ratio (WCAG 2.2). */
export function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

/** The relative luminance (WCAG 2.2) of a colour of six hexadecimal digits. */
export function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever is easier to read on a colour; unknown for a colour that is not hexadecimal. */
export function readableOn(colour: string | undefined): string | undefined {
  const [, digits] = /^#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.exec(colour ?? "") ?? [];
  if (digits === undefined) return undefined;
  // The last of four is how opaque the colour is.
  const full = digits.length < 6 ? digits.replace(/./g, "$&$&") : digits;
  const luminance = luminanceOf(full.slice(0, 6));
  return contrast(luminance, 1) >= contrast(luminance, 0) ? "#ffffff" : "#000000";
}
