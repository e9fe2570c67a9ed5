/** Whether the Host header of a request may decide the public origin. */
import type { AuthConfig } from "@auth/core";
import type { Environment } from "./environment.ts";
import { FastifyAuthError } from "../errors.ts";
import { isLoopback, type PublicOrigin } from "../http/origin.ts";
import type { FastifyAuthConfig } from "../types.ts";

/** The Host header may decide during development, or if the configuration says so. */
export function hostProblem(
  core: AuthConfig,
  origin: PublicOrigin | undefined,
  env: Environment,
): FastifyAuthError | undefined {
  if (origin !== undefined || core.trustHost) return;
  const why = env.NODE_ENV === "production" ? "NODE_ENV is production" : "`trustHost` is false";
  return new FastifyAuthError(
    "FST_AUTHJS_HOST_NOT_TRUSTED",
    `The public origin is unknown: ${why} and neither \`origin\` nor AUTH_URL is set. Set AUTH_URL to the ` +
      "address users type (https://app.example), or, where the Host header is checked before it gets here, " +
      "AUTH_TRUST_HOST=true or `trustHost: true`." + (env.NEXTAUTH_URL ? " NEXTAUTH_URL is not read." : ""),
  );
}

/** What decides the public origin, for the log. */
export interface OriginSource {
  /** The setting that names it; without one it is that of each request. */
  readonly setting?: "`origin`" | "AUTH_URL";
  /** Why it is this one. */
  readonly why: string;
}

/** Finds out what decides the public origin. */
export function originSource(
  config: FastifyAuthConfig,
  origin: PublicOrigin | undefined,
  env: Environment,
): OriginSource {
  if (origin !== undefined) {
    const setting = config.origin ? "`origin`" : "AUTH_URL";
    return { setting, why: `by ${setting}` };
  }
  if (config.trustHost !== undefined) return { why: "by `trustHost`" };
  const variable = ["AUTH_TRUST_HOST", "VERCEL", "CF_PAGES"].find((name) => env[name] !== undefined);
  return {
    why: variable === undefined ? "since AUTH_URL is not set and this is not production" : `by ${variable}`,
  };
}

/** Warns of an origin without TLS in production. */
export function originWarnings(
  config: FastifyAuthConfig,
  origin: PublicOrigin | undefined,
  env: Environment,
): string[] {
  if (env.NODE_ENV !== "production" || origin === undefined || origin.secure || isLoopback(origin)) return [];
  const { setting } = originSource(config, origin, env);
  return [
    `${setting} is ${origin.href} in production: whoever is on the way to it can read and change passwords, codes ` +
    "and sessions, and cookies are not `Secure`. If users reach it over https, as by a proxy that has TLS, write " +
    `${origin.href.replace("http:", "https:")}.`,
  ];
}

/** Warns if the Host header decides only because neither it nor NODE_ENV is configured. */
export function hostWarnings(
  config: FastifyAuthConfig,
  origin: PublicOrigin | undefined,
  env: Environment,
): string[] {
  const configured = origin ?? config.trustHost ?? env.AUTH_TRUST_HOST ?? env.VERCEL ?? env.CF_PAGES;
  if (configured !== undefined || env.NODE_ENV !== undefined) return [];
  return [
    "The public origin follows the Host header of each request, since neither AUTH_URL nor AUTH_TRUST_HOST " +
    "is set and NODE_ENV is unset. Fine while developing; with NODE_ENV=production the application will " +
    "not start like this: set AUTH_URL to the address users type, or `trustHost: true`.",
  ];
}
