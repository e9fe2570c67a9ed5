/** What a setting may be, and what is said of one that is something else. */
import { isObject } from "../utils/decode.ts";

/** Says what is wrong with a value, of a provider if one is named, and what to write; nothing if it is right. */
export type Rule = (value: unknown, name: string, provider?: string) => string | undefined;

/** A rule about values whose type is wrong, or that are none of several words. */
export function written(wanted: string, isValid: (value: unknown) => boolean, isWord = false): Rule {
  return (value, name, provider) => {
    if (isValid(value)) return undefined;
    const subject = provider === undefined
      ? `\`${name}\` is ${describe(value, isWord)}`
      : `The \`${name}\` of the provider "${provider}" is ${kindOf(value)}`;
    return `${subject}: write ${wanted}, or leave it out.`;
  };
}

export function required(wanted: string, isValid: (value: unknown) => boolean): Rule {
  return (value, name) =>
    isValid(value) ? undefined : `\`${name}\` must be ${wanted}; it is ${isNumber(value) ? value : describe(value)}.`;
}

export function numberOf(unit: string, least: number, most: number): Rule {
  return required(`a number of ${unit}`, (value) => isNumber(value) && value >= least && value <= most);
}

/** A rule about the names of options, and the value of each. */
export function optionsOf(rules: Readonly<Record<string, Rule>>): Rule {
  return (options, name) => {
    for (const [option, value] of Object.entries(options as object)) {
      if (!Object.hasOwn(rules, option)) {
        return `\`${name}.${option}\` is no option: there are ${Object.keys(rules).join(", ")}.`;
      }
      const problem = value === undefined ? undefined : rules[option]!(value, `${name}.${option}`);
      if (problem !== undefined) return problem;
    }
  };
}

export function oneOf(...words: readonly string[]): Rule {
  const wanted = `one of ${words.map((word) => `"${word}"`).join(", ")}`;
  return written(wanted, (value) => words.includes(value as string), true);
}

/** The same for each of these settings. */
export function each<Name extends string, Kind>(kind: Kind, ...names: readonly Name[]): Readonly<Record<Name, Kind>> {
  return Object.fromEntries(names.map((name) => [name, kind])) as Record<Name, Kind>;
}

/** The longest delay of a timer, in milliseconds; with a longer one it fires at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

export const ANY: Rule = () => undefined;
export const BOOLEAN = written("true or false", (value) => typeof value === "boolean");
export const FUNCTION = written("a function", (value) => typeof value === "function");
export const OBJECT = written("an object", isObject);
export const TEXT = written("a string", isText);
export const FILLED = written("a string that is not empty", (value) => isText(value) && value.trim() !== "");
export const TEXTS = written("a string, or an array of strings", (value) => [value].flat().every(isText));
export const TIMEOUT = numberOf(`milliseconds up to ${LONGEST_DELAY}, or 0 for no limit`, 0, LONGEST_DELAY);

/** A page or a file: a path, or a URL. */
export const ADDRESS: Rule = (value, name) => {
  const isPath = isText(value) && /^\/(?![/\\])/.test(value);
  if (isPath || (isText(value) && /^[a-z][a-z0-9+.-]*:\/\//i.test(value) && URL.canParse(value))) return undefined;
  return `\`${name}\` is ${shown(value)}, which leads nowhere: write a path ` +
    'that begins with "/", or a URL such as "https://app.example/signin".';
};

/** What a link leads to: an address, or also someone to write to or to call. */
export const LINK: Rule = (value, name) =>
  isText(value) && /^(?:mailto|tel):./i.test(value) ? undefined : ADDRESS(value, name);

/** What would end the rule that a colour stands in, and hexadecimal digits without a "#" or of a wrong number. */
const NO_COLOUR = /[;{}<>\\]|\/\*|^[\da-f]{3,8}$|^#(?!(?:[\da-f]{3,4}|[\da-f]{6}|[\da-f]{8})\b)/i;

export const COLOUR: Rule = (value, name) => {
  if (!isText(value) || !NO_COLOUR.test(value)) return TEXT(value, name);
  return `\`${name}\` has ${JSON.stringify(value)}, which is no colour: write one as in CSS, such as "#346df1".`;
};

export function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function isFilled(value: unknown): value is string {
  return isText(value) && value !== "";
}

/** What a value is, without a text that may be secret. */
function describe(value: unknown, isWord: boolean = false): string {
  if (isText(value)) {
    if (value.trim() === "") return "an empty string";
    return isWord || /^(?:true|false|yes|no|on|off|\d)$/i.test(value) ? `"${value}"` : "a string";
  }
  const other = Array.isArray(value) ? value.findIndex((entry) => !isText(entry)) : -1;
  return other === -1 ? kindOf(value) : `an array whose entry ${other} is ${describe((value as unknown[])[other])}`;
}

/** A value that is not secret. */
export function shown(value: unknown): string {
  if (isNumber(value)) return String(value);
  return isText(value) ? JSON.stringify(value) : kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return "an array";
  return isObject(value) ? "an object" : `a ${typeof value}`;
}
