/**
 * The types of what the plugin publishes: the events of the audit trail, on channels of `node:diagnostics_channel`, and
 * operations on tracing channels.
 *
 * Installed with `npm install fastify-authjs fastify`, or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`.
 *
 * @example
 * ```ts
 * import diagnostics from "node:diagnostics_channel";
 * import type { SignInFailureEvent } from "fastify-authjs/telemetry";
 *
 * const failures: string[] = [];
 * diagnostics.subscribe("fastify-authjs:sign-in-failure", (event) => {
 *   failures.push((event as SignInFailureEvent).reason);
 * });
 * console.assert(failures.length === 0);
 * ```
 * @module
 */
export type * from "./types/telemetry.ts";
