/** The Content-Security-Policy of the pages. */
import type { PageView } from "./types.ts";

/**
 * Makes the policy of a configuration: what pages may reach besides the application's own origin. Forms may lead to
 * these, redirects included.
 */
export function pagePolicy({ forms, images, styles }: Record<"forms" | "images" | "styles", readonly string[]>) {
  /** @param form Where the forms of this page may lead besides. */
  return ({ script, style }: PageView["nonce"], form: string | undefined): string => {
    const targets = new Set(["'self'", ...forms, ...form === undefined ? [] : [form]]);
    return "default-src 'none'; base-uri 'none'; connect-src 'self'; " +
      `form-action ${[...targets].join(" ")}; frame-ancestors 'none'; img-src ${["'self'", ...images].join(" ")}; ` +
      `script-src 'nonce-${script}'; style-src ${["'self'", `'nonce-${style}'`, ...styles].join(" ")}`;
  };
}

/**
 * The source expression for a URL: its origin, its host for "//host/path", or `data:`; `undefined` for a path or what
 * is no URL.
 */
export function sourceOf(url: string | undefined): string | undefined {
  if (url?.startsWith("//")) return sourceOf(`https:${url}`)?.replace("https://", "");
  if (url === undefined || !URL.canParse(url)) return undefined;
  const { protocol, origin, hostname } = new URL(url);
  if (protocol === "data:") return protocol;
  // A host may have a semicolon, which begins another directive, or be an asterisk.
  const isHost = /^[\w.:[\]-]+$/.test(hostname);
  return isHost && (protocol === "https:" || protocol === "http:") ? origin : undefined;
}
