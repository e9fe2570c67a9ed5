/**
 * What routing and boot checks need to know of the configured providers.
 *
 * @module
 */
import type { Provider } from "@auth/core/providers";
import { clonePlain } from "./clone.ts";
import { FastifyAuthError } from "./errors.ts";

/** The facts of one configured provider, its user options applied. */
export interface ConfiguredProvider {
  /** Its id, the last part of its callback URL. */
  readonly id: string;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  readonly type: string;
  /** The checks of its callback; empty for anything but OAuth and OIDC. */
  readonly checks: readonly string[];
  /** The endpoint and issuer URLs it was given. */
  readonly urls: readonly string[];
}

interface ProviderShape {
  id?: string;
  type?: string;
  checks?: readonly string[];
  issuer?: unknown;
  wellKnown?: unknown;
  authorization?: unknown;
  token?: unknown;
  userinfo?: unknown;
  options?: ProviderShape;
}

/** A provider that core may complete and merge into; a factory is kept one, since core calls it with the environment. */
export function copyProvider(provider: Provider): Provider {
  if (typeof provider !== "function") return clonePlain(provider);
  const factory = provider as (options: never) => Provider;
  return ((options: never) => clonePlain(factory(options))) as unknown as Provider;
}

/** Reads the facts off each provider, the user's `options` over the provider's own, as core merges them. */
export function summarizeProviders(providers: readonly Provider[]): ConfiguredProvider[] {
  return providers.map((provider) => {
    const { options, ...defaults } = provider as unknown as ProviderShape;
    const merged = { ...defaults, ...withoutUndefined(options ?? {}) };
    const type = defaults.type ?? "";
    return {
      id: merged.id ?? "",
      type,
      checks: type === "oauth" || type === "oidc" ? merged.checks ?? ["pkce"] : [],
      urls: [merged.issuer, merged.wellKnown, merged.authorization, merged.token, merged.userinfo]
        .map(toUrl).filter((url) => url !== undefined),
    };
  });
}

function withoutUndefined(options: ProviderShape): ProviderShape {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function toUrl(endpoint: unknown): string | undefined {
  const url = typeof endpoint === "object" && endpoint !== null
    ? (endpoint as { url?: unknown }).url
    : endpoint;
  return typeof url === "string" ? url : undefined;
}

/** The first thing that makes the providers unusable. */
export function providerProblem(
  providers: readonly ConfiguredProvider[],
  production: boolean,
): FastifyAuthError | undefined {
  const invalid = (message: string) => new FastifyAuthError("FST_AUTHJS_PROVIDER_INVALID", message);
  const ids = new Set<string>();
  for (const { id, urls } of providers) {
    // The id is a path segment of the callback URL, registered at the provider to the letter.
    if (!/^[\w.~-]+$/.test(id)) {
      return invalid(
        `The provider id ${JSON.stringify(id)} cannot be part of a URL: use letters, digits, "-", "_".`,
      );
    }
    if (ids.has(id)) {
      return invalid(
        `Two providers have the id "${id}": give one of them another, as in \`{ id: "${id}-2" }\`.`,
      );
    }
    ids.add(id);
    const plain = urls.find((url) => url.toLowerCase().startsWith("http:"));
    if (production && plain !== undefined) {
      return invalid(
        `The provider "${id}" is reached without TLS at ${plain}, which NODE_ENV=production does not allow: use https.`,
      );
    }
  }
}

/** Settings that work and weaken: named at boot. */
export function providerWarnings(providers: readonly ConfiguredProvider[]): string[] {
  return providers.filter(({ checks }) => checks.includes("none")).map(({ id }) =>
    `The provider "${id}" has \`checks: ["none"]\`, so its callback accepts a sign-in that somebody else started ` +
    '(login CSRF). Use "pkce" or "state".'
  );
}
