/** Requests that a browser sends before its user asks for the page. */
import type { IncomingHttpHeaders } from "node:http";

/** `Sec-Purpose` is the standard (Fetch, section 3.2); the others are of older browsers. */
const HEADERS = ["sec-purpose", "purpose", "x-purpose", "x-moz"] as const;

/** Whether the page is fetched in advance, or for a preview. */
export function isPrefetch(headers: IncomingHttpHeaders): boolean {
  for (const name of HEADERS) {
    if (/\b(?:prefetch|prerender|preview)\b/i.test(String(headers[name] ?? ""))) return true;
  }
  return false;
}
