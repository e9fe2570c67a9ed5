/** The configuration, of the options of core, of the kernel and of the features; and all public types. */
import type { AuthConfig } from "@auth/core";
import type { FastifyRequest } from "fastify";
import type { FeatureOptions } from "./features/mod.ts";
import type { FastifyAuthPages, FastifyAuthSession, KernelOptions } from "./types/kernel_options.ts";

export type * from "./features/mod.ts";
export type * from "./types/kernel_options.ts";
export type * from "./types/records.ts";
export type * from "./types/telemetry.ts";

/** What the plugin adds to core's configuration. */
export interface FastifyAuthOptions extends KernelOptions, FeatureOptions {}

/** The configuration of the plugin: core's without `raw`, and the options of the plugin. */
export interface FastifyAuthConfig extends Omit<AuthConfig, "pages" | "raw" | "session">, FastifyAuthOptions {
  /**
   * The application's own pages, each a path that begins with `/` or a URL. Every page that is not named is built in:
   * its name, language and texts are set here, too.
   * @default {} all of them are built in
   */
  pages?: FastifyAuthPages;
  /**
   * How sessions are kept, and for how long.
   * @default {} a session of 30 days in a cookie, or in the database if there is an `adapter`
   */
  session?: FastifyAuthSession;
}

/**
 * Chooses the configuration for a request, in place of one that does not change:
 * `(request) => tenants.get(request.host)`. It is called once for each request, before its body is read. Each
 * configuration needs a `tenant`, and is copied and checked with its first request: return the same object for as long
 * as nothing in it changes. If there is none, auth routes and guards answer with 404, and `getSession()` returns
 * `null`; if the function throws, they answer with 503, or the `statusCode` of the error.
 */
export type ConfigForRequest<Config = FastifyAuthConfig> = (
  request: FastifyRequest,
) => Config | null | undefined | PromiseLike<Config | null | undefined>;
