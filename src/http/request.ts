/** What a request says: its query, and whether it is a browser's for a page. */
import type { IncomingHttpHeaders } from "node:http";
import { later } from "../utils/later.ts";

const preferredType = later(async () => (await import("./preferences.ts")).preferredType);

/** Whether the client accepts `text/html` by name: browsers do for a page, `fetch()` by default does not. */
export function acceptsHtml(accept = ""): boolean {
  return accept.toLowerCase().split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/html" && !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
  });
}

/** Whether the client prefers JSON to a page. One that accepts anything does not. */
export async function prefersJson(accept = ""): Promise<boolean> {
  return /json/i.test(accept) && await preferredType(accept, ["text/html", "application/json"]) === "application/json";
}

/** `Sec-Purpose` is the standard (Fetch, section 3.2); the others are of older browsers. */
const PURPOSES = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  for (const name of PURPOSES) {
    if (/\b(?:prefetch|prerender|preview)\b/i.test(String(headers[name] ?? ""))) return true;
  }
  return false;
}

/**
 * The query of a URL as Node gives it, without `?` and without a fragment that a client sent. It is not Fastify's: an
 * application may have configured another parser.
 */
export function queryOf(url: string): string {
  return /^[^?#]*\?([^#]*)/.exec(url)?.[1] ?? "";
}

/** The parameters of a query. Unlike the constructor this keeps a leading "?", which is part of a name here. */
export function parseQuery(query: string): URLSearchParams {
  return new URLSearchParams(`&${query}`);
}
