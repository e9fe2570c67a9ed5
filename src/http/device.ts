/** What a `User-Agent` header says of a device, in names that users know. Only names of these lists are said. */
type Names = readonly (readonly [name: string, pattern: RegExp])[];

/** The first one counts: most browsers also say that they are Chrome or Safari. */
const BROWSERS: Names = [
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /(?:Chrome|CriOS)\//],
  ["Safari", /\bVersion\/[\d.]+ .*\bSafari\//],
];

/** iPhones also say that they are like macOS, Android that it is Linux. */
const SYSTEMS: Names = [
  ["Windows", /\bWindows\b/],
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["macOS", /\bMacintosh\b/],
  ["Android", /\bAndroid\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
];

/** The browser and the system, as far as they are known. */
export function deviceOf(userAgent: string): string[] {
  return [BROWSERS, SYSTEMS].flatMap((names) =>
    names.find(([, pattern]) => pattern.test(userAgent))?.slice(0, 1) as string[] ?? []
  );
}
