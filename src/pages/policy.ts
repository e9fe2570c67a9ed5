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
 * The `Content-Security-Policy` of the pages. Nothing is loaded from another origin, unless the application
 * configured it.
 */
export class PagePolicy {
  readonly #forms: readonly string[];
  readonly #images: string;
  readonly #styles: string;

  constructor({ forms, images, styles }: PolicySources) {
    this.#forms = [...new Set(["'self'", ...forms])];
    this.#images = [...new Set(["'self'", ...images])].join(" ");
    this.#styles = [...new Set(styles)].map((source) => ` ${source}`).join("");
  }

  /**
   * The value of the header.
   *
   * @param form Where the forms of this page may lead besides, redirects included.
   */
  header({ script, style }: Nonce, form: string | undefined): string {
    const forms = form === undefined || this.#forms.includes(form) ? this.#forms : [...this.#forms, form];
    return "default-src 'none'; base-uri 'none'; connect-src 'self'; " +
      `form-action ${forms.join(" ")}; frame-ancestors 'none'; img-src ${this.#images}; ` +
      `script-src 'nonce-${script}'; style-src 'self' 'nonce-${style}'${this.#styles}`;
  }
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
