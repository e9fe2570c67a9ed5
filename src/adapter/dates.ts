/** Reads points in time as databases return them: compared with a Date, text is never in the past. */
import { isObject } from "../utils/decode.ts";

/** SQL and ISO 8601. Time, fraction and zone may be missing; an annotation (RFC 9557) may follow. */
const SQL_OR_ISO = new RegExp(
  [
    /^(\d{4}-\d{2}-\d{2})/,
    /(?:[T ] ?(\d{2}:\d{2}(?::\d{2})?)(?:[.,](\d+))?)?/,
    /(?: ?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)(?:\[.*\])?)?$/,
  ].map(({ source }) => source).join(""),
  "i",
);

/** What `toUTCString()` and `toString()` write, always with a zone. */
const JAVASCRIPT_TEXT =
  /^[a-z]{3},? (?:\d{1,2} [a-z]{3}|[a-z]{3} \d{1,2}) \d{4} \d{2}:\d{2}:\d{2} GMT(?:[+-]\d{4}(?: \(.*\))?)?$/i;

/** The units of numbers since 1970: minimum, limit, milliseconds. Each covers 1973 to 2286; none overlap. */
const UNITS = [[1e8, 1e10, 1000], [1e11, 1e13, 1], [1e14, 1e16, 1e-3], [1e17, 1e19, 1e-6]] as const;

/**
 * Reads a Date; ISO 8601, SQL or JavaScript text; seconds to nanoseconds since 1970 as a number, bigint or text; an
 * object of Temporal, Luxon, Day.js or Firestore, or another that converts to one of these. Text without a zone is UTC,
 * as SQLite's functions write it: the zone of the process would differ between machines and with summer time.
 * @returns `undefined` if it names no time after 1970.
 */
export function toDate(value: unknown): Date | undefined {
  if (value instanceof Date) return valid(value);
  if (typeof value === "number" || typeof value === "bigint") return fromNumber(Number(value));
  if (typeof value === "string") return fromText(value.trim());
  return isObject(value) ? fromObject(value) : undefined;
}

function valid(date: Date): Date | undefined {
  return Number.isNaN(date.valueOf()) ? undefined : date;
}

function fromNumber(value: number): Date | undefined {
  const unit = UNITS.find(([minimum, limit]) => value >= minimum && value < limit);
  if (unit !== undefined) return new Date(value * unit[2]);
  // MySQL's YYYYMMDDhhmmss. No unit above has 14 digits.
  const digits = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/;
  const text = String(Math.floor(value));
  return digits.test(text) ? fromText(text.replace(digits, "$1-$2-$3 $4:$5:$6")) : undefined;
}

function fromText(text: string): Date | undefined {
  if (/^\d+(?:\.\d+)?$/.test(text)) return fromNumber(Number(text));
  if (JAVASCRIPT_TEXT.test(text)) return valid(new Date(text));
  const parts = SQL_OR_ISO.exec(text);
  if (parts === null) return undefined;
  const [, day, time = "00:00", fraction = "", zone = "Z"] = parts;
  // A Date would read February 30 as March 2.
  if (valid(new Date(day!))?.toISOString().slice(0, 10) !== day) return undefined;
  const offset = /^[+-]/.test(zone)
    ? zone.replace(/^(...):?(..)?$/, (_, hours, minutes = "00") => `${hours}:${minutes}`)
    : "Z";
  const seconds = time.length === 5 ? `${time}:00` : time;
  return valid(new Date(`${day}T${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}${offset}`));
}

/** Members that convert an object, the most exact first. Each may be missing, or throw as Temporal's `valueOf()`. */
const CONVERSIONS = [
  ...["epochMilliseconds", "toDate", "toJSDate", "toStandardDate"],
  ...["valueOf", "toISOString", "toString"],
];

function fromObject(value: object): Date | undefined {
  for (const name of CONVERSIONS) {
    try {
      const member: unknown = (value as Record<string, unknown>)[name];
      const converted: unknown = typeof member === "function" ? member.call(value) : member;
      const date = converted instanceof Date || typeof converted !== "object" ? toDate(converted) : undefined;
      if (date !== undefined) return date;
    } catch {
      // Try the next one.
    }
  }
}
