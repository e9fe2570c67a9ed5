/**
 * What routing and boot checks need to know of the configured providers.
 *
 * @module
 */
import type { Provider } from "@auth/core/providers";
import { clonePlain, mergeAsCore } from "../utils/clone.ts";
import { FastifyAuthError } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";

/** The facts of one configured provider, its user options applied. */
export interface ProviderSummary {
  /** Its id, the last part of its callback URL. */
  readonly id: string;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  readonly type: string;
  /** The checks of its callback: those of OAuth and OIDC, `challenge` for WebAuthn, none for the rest. */
  readonly checks: readonly string[];
  /** The endpoint and issuer URLs it was given. */
  readonly urls: readonly string[];
  /** Its issuer and its endpoints, of an OAuth or OpenID Connect provider: each where it was given. */
  readonly server: ProviderServer;
  /** Whether it posts its answer as a form, across sites (`response_mode=form_post`). */
  readonly formPost: boolean;
  /** The application that its callbacks go to and that hands them on. */
  readonly redirectProxyUrl: string | undefined;
}

/** What a provider is configured to be found by. */
export interface ProviderServer {
  readonly issuer: string | undefined;
  readonly wellKnown: string | undefined;
  readonly authorization: string | undefined;
  readonly token: string | undefined;
  readonly userinfo: string | undefined;
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
  redirectProxyUrl?: string;
  options?: ProviderShape;
}

/** A provider that core may complete and merge into; a factory is kept one, since core calls it with the environment. */
export function copyProvider(provider: Provider): Provider {
  if (typeof provider !== "function") return clonePlain(provider);
  const factory = provider as (options: never) => Provider;
  return ((options: never) => clonePlain(factory(options))) as unknown as Provider;
}

/**
 * Reads the facts off each provider, the user's `options` over the provider's own, as core merges them.
 *
 * @param providers The providers, completed from the environment.
 * @param redirectProxyUrl The configuration's, for providers without one of their own.
 */
export function summarizeProviders(
  providers: readonly Provider[],
  redirectProxyUrl?: string,
): ProviderSummary[] {
  return providers.map((provider) => {
    const { options, ...defaults } = provider as unknown as ProviderShape;
    const merged: ProviderShape = mergeAsCore(clonePlain(defaults), options ?? {});
    const { id = "" } = merged;
    const { type = "" } = defaults;
    const oauth = type === "oauth" || type === "oidc";
    const formPost = oauth && responseMode(merged.authorization) === "form_post";
    const proxy = oauth ? merged.redirectProxyUrl ?? redirectProxyUrl : undefined;
    const server = {
      issuer: toUrl(merged.issuer),
      wellKnown: toUrl(merged.wellKnown),
      authorization: toUrl(merged.authorization),
      token: toUrl(merged.token),
      userinfo: toUrl(merged.userinfo),
    };
    return {
      id,
      type,
      checks: oauth ? checksOf(merged, proxy) : type === "webauthn" ? ["challenge"] : [],
      urls: Object.values(server).filter((url) => url !== undefined),
      server,
      formPost,
      // Core has no proxy for forms.
      redirectProxyUrl: formPost ? undefined : proxy,
    };
  });
}

/** A redirect proxy tells whose callback it has from the state. */
function checksOf({ checks = ["pkce"] }: ProviderShape, proxy: string | undefined): readonly string[] {
  return proxy === undefined || checks.includes("state") ? checks : [...checks, "state"];
}

function responseMode(authorization: unknown): unknown {
  const url = toUrl(authorization);
  const { params } = (authorization ?? {}) as { params?: { response_mode?: unknown } };
  return params?.response_mode ??
    (url !== undefined && URL.canParse(url) ? new URL(url).searchParams.get("response_mode") : undefined);
}

function toUrl(endpoint: unknown): string | undefined {
  const url = typeof endpoint === "object" && endpoint !== null
    ? (endpoint as { url?: unknown }).url
    : endpoint;
  return typeof url === "string" ? url : undefined;
}

/** Fastify's router takes no longer parameter by default. */
const MAXIMUM_ID_LENGTH = 100;

/** Core takes the first for no provider, and lists none by the second. */
const RESERVED_IDS = new Set(["undefined", "__proto__"]);

/**
 * Whether an id can be the path segment of a callback URL, which is registered at the provider to the letter. A segment of
 * one or two dots is resolved by whoever reads the URL (RFC 3986 section 5.2.4).
 */
function isPathSegment(id: unknown): boolean {
  return typeof id === "string" && /^(?!\.{1,2}$)[\w.~-]+$/.test(id) && id.length <= MAXIMUM_ID_LENGTH &&
    !RESERVED_IDS.has(id);
}

/** The first thing that makes the providers unusable. */
export function providerProblem(
  providers: readonly ProviderSummary[],
  production: boolean,
): FastifyAuthError | undefined {
  const invalid = (message: string) => new FastifyAuthError("FST_AUTHJS_PROVIDER_INVALID", message);
  const ids = new Set<string>();
  for (const { id, urls } of providers) {
    if (!isPathSegment(id)) {
      return invalid(
        `The provider id ${
          JSON.stringify(id)
        } cannot be part of a URL: use letters, digits, "-", "_", at most ` +
          `${MAXIMUM_ID_LENGTH} of them.`,
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

/**
 * Settings that work and weaken, or cannot work: named at boot.
 *
 * @param origin The pinned public origin.
 */
export function providerWarnings(
  providers: readonly ProviderSummary[],
  origin: PublicOrigin | undefined,
): string[] {
  return providers.flatMap(({ id, type, checks, formPost }) => {
    const warnings: string[] = [];
    if ((type === "oauth" || type === "oidc") && (checks.length === 0 || checks.includes("none"))) {
      warnings.push(
        `The provider "${id}" has \`checks: ["none"]\`, so its callback accepts a sign-in that somebody else ` +
          'started (login CSRF). Use "pkce" or "state".',
      );
    }
    if (formPost && origin !== undefined && !origin.secure && !isLoopback(origin)) {
      warnings.push(
        `The provider "${id}" answers with \`response_mode=form_post\`, which needs SameSite=None cookies, and ` +
          `browsers refuse those over http: its sign-ins at ${origin.href} will fail. Serve the application over https.`,
      );
    }
    return warnings;
  });
}

/** Browsers take such addresses for secure whatever the scheme. */
function isLoopback({ href }: PublicOrigin): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(href).hostname);
}
