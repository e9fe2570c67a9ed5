/**
 * Spans and metrics of OpenTelemetry: an instrumentation, which goes where an application lists its others.
 *
 * It makes spans of requests to the auth routes, of requests to providers and of calls of the adapter, and
 * metrics of these, of reads of sessions and of the events of the audit trail. None has a token, a code, an
 * e-mail address or the id of a user. Requests to providers get no `traceparent` header.
 *
 * Installed with `npm install fastify-authjs fastify @opentelemetry/api` (`pnpm add`, `yarn add`, `bun add`),
 * or with `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify npm:@opentelemetry/api`. Without an
 * import of this module nothing of OpenTelemetry is loaded.
 *
 * @example
 * ```ts
 * import { FastifyAuthInstrumentation } from "fastify-authjs/opentelemetry";
 *
 * // Beside the others: new NodeSDK({ instrumentations: [new FastifyOtelInstrumentation(), instrumentation] }).start();
 * const instrumentation = new FastifyAuthInstrumentation();
 * console.assert(instrumentation.getConfig().enabled);
 * instrumentation.disable();
 * ```
 *
 * @module
 */
export { FastifyAuthInstrumentation, type FastifyAuthInstrumentationConfig } from "./instrumentation.ts";
