/**
 * What `deno task generate:adapters` found: `docs/adapters.md` says it, and the tests hold it true.
 *
 * @module
 */
import type { CaseResult } from "./drive.ts";
import recorded from "./results.json" with { type: "json" };

/** What is recorded of one case. */
export interface Recorded extends Pick<CaseResult, "byAdapter" | "longTokens" | "keepsLinks" | "short" | "unindexed"> {
  readonly adapter: string;
  readonly database: string;
}

/** The versions of the adapters, and the results by the id of their case. */
export const RESULTS: {
  readonly versions: Readonly<Record<string, string>>;
  readonly cases: Readonly<Record<string, Recorded>>;
} = recorded;
