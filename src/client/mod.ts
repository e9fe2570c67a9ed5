/**
 * The browser client: signs in and out, reads and updates the session, with `fetch()` and without leaving the page.
 *
 * It has no dependency and runs in every current browser, with any framework or none, on the origin of the application
 * or on another one. A failure, such as a wrong password, is a result and not an exception.
 *
 * Part of the package: `npm install fastify-authjs` (`pnpm add`, `yarn add`, `bun add`), or
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin`. On the server nothing has to be registered beside the plugin; a
 * page on another origin has to be in `trustedOrigins`, and allowed by `@fastify/cors`.
 *
 * @example
 * ```ts
 * import { createAuthClient } from "fastify-authjs/client";
 *
 * const auth = createAuthClient({
 *   baseUrl: "https://api.example/auth", // "/auth" by default
 *   fetch: () => Promise.resolve(Response.json({ user: { name: "Ada" }, expires: "2030-01-01T00:00:00.000Z" })),
 * });
 *
 * const session = await auth.getSession();
 * console.assert(session?.user?.name === "Ada");
 * ```
 * @module
 */
export { AuthClientError, createAuthClient } from "./client.ts";
export type * from "./types.ts";
