/**
 * The versions that a new project begins with: those that this package is tested with, as in
 * scripts/packages/deno.json.
 */

/** This package itself. */
export const SELF = "^0.1.0";

/** The oldest Node that runs TypeScript, and is supported. */
export const NODE = ">=22.18.0";

/** Packages of npm. */
export const VERSIONS = {
  "@auth/drizzle-adapter": "^1.11.3",
  "@electric-sql/pglite": "^0.5.16",
  "@fastify/rate-limit": "^11.2.0",
  "@libsql/client": "^0.18.0",
  "@simplewebauthn/browser": "^9.0.1",
  "@simplewebauthn/server": "^9.0.2",
  "drizzle-orm": "^0.45.4",
  "fastify": "^5.0.0",
  "nodemailer": "^10.6.0",
  "pg": "^8.23.1",
  "typescript": "^5.9.3",
} as const;

/** Declarations, which Deno does not need. */
export const TYPES = {
  "@types/node": "^24.0.0",
  "@types/pg": "^8.0.0",
} as const;

export type PackageName = keyof typeof VERSIONS;
