/** The Content-Security-Policy of the pages. */
import type { Nonce } from "./types.ts";

/** What a page may reach besides the application's own origin. */
export interface PolicySources {
  /** Where its forms may lead, redirects included. */
  readonly forms: readonly string[];
  /** Where its images come from. */
  readonly images: readonly string[];
  /** Where its stylesheets come from. */
  readonly styles: readonly string[];
}

/**
 * The value of the `Content-Security-Policy` header. Nothing is loaded from another origin, unless the
 * application configured it.
 */
export function contentSecurityPolicy({ script, style }: Nonce, sources: PolicySources): string {
  const directives: Record<string, readonly string[]> = {
    "default-src": ["'none'"],
    "base-uri": ["'none'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'", ...sources.forms],
    "frame-ancestors": ["'none'"],
    "img-src": ["'self'", ...sources.images],
    "script-src": [`'nonce-${script}'`],
    "style-src": ["'self'", `'nonce-${style}'`, ...sources.styles],
  };
  return Object.entries(directives)
    .map(([name, values]) => [name, ...new Set(values)].join(" "))
    .join("; ");
}

/** The source expression for a URL: its origin, or `data:`; `undefined` for a path or what is no URL. */
export function sourceOf(url: string | undefined): string | undefined {
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { protocol, origin } = new URL(url);
  if (protocol === "data:") return protocol;
  return protocol === "https:" || protocol === "http:" ? origin : undefined;
}
