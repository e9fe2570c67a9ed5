/**
 * The routes of `failing_replies_process.ts`.
 *
 * @module
 */

/** What is wrong with a reply. */
export const FAILURES = [
  "header",
  "location",
  "cookie",
  "payload",
  "response",
  "consumed",
  "stream",
  "brokenStream",
  "thrown",
] as const;

/** How a route reads the session. */
export const READS = ["awaited", "hasty", "guarded"] as const;
