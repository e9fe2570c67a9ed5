/**
 * For the tests of an application: users who are signed in without a form, and an OpenID Provider to sign in with.
 *
 * {@linkcode signedIn} gives an `inject()` of the application that sends the cookie of a signed-in user, made as the
 * application's own configuration makes it. {@linkcode startIssuer} starts an OpenID Provider on this machine, for
 * tests of the sign-in itself. Both refuse to work under `NODE_ENV=production`. They need no test runner: they work
 * with `node:test`, Vitest, Jest, `Deno.test` and `bun test`.
 *
 * Part of the package: `npm install fastify-authjs fastify` (`pnpm add`, `yarn add`, `bun add`), or
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`. `startIssuer()` needs `oauth2-mock-server`:
 * `npm install --save-dev oauth2-mock-server` (on Node 20 `oauth2-mock-server@8`), or
 * `deno add npm:oauth2-mock-server`.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
 * import { signedIn } from "fastify-authjs/testing";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 * app.get("/me", async (request) => (await getSession(request, config))?.user);
 *
 * const inject = await signedIn(app, config, { user: { name: "Ada", email: "ada@example.com" } });
 * const response = await inject("/me");
 * console.assert(response.json().name === "Ada");
 * ```
 * @module
 */
export type { InjectWithCookies, TestedApp } from "./inject.ts";
export { type IssuerOptions, type IssuerSignInOptions, startIssuer, type TestIssuer } from "./issuer.ts";
export type { IssuerUser } from "./issuer_service.ts";
export { type SignedIn, signedIn, type SignedInOptions } from "./signed_in.ts";
