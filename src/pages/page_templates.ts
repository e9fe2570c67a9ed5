/**
 * The pages without what is different for each request. A page is rendered once for each language, site and mount path,
 * with marks in place of its CSRF token, addresses and nonces; for a request only these are escaped and filled in.
 */
import { html } from "@remix-run/html-template";
import { LRUCache } from "lru-cache";
import { randomUUID } from "node:crypto";
import { renderPage } from "./page.ts";
import type { Page, PageView, SignInPage } from "./types.ts";

/** Sites, languages and errors in use; without a configured origin, the site is what the client says. */
const MOST_TEMPLATES = 100;

/** The properties of a page that are different for each request, and only shown. */
const VARIABLES = [
  "action",
  "asked",
  "csrfToken",
  "callbackUrl",
  "signInUrl",
  "email",
  "identifier",
  "menuQuery",
  "name",
  "returnUrl",
  "seconds",
  "url",
  "to",
  "when",
] as const;

type Values = Readonly<Record<string, string>>;

/** Text and names of values in turn; it begins and ends with a text. */
type Template = readonly string[];

export class PageTemplates {
  readonly #templates = new LRUCache<string, Template, () => Template>({
    max: MOST_TEMPLATES,
    memoMethod: (_key, _stale, { context: make }) => make(),
  });
  /** In no text, and the same after escaping. */
  readonly #mark = `mark-${randomUUID()}-`;

  render(page: Page, view: PageView): string {
    // Their fields and forms are those of the request.
    if (page.kind === "confirm" || page.kind === "signInAgain") return renderPage(page, view);
    const values: Values = { ...variablesOf(page), script: view.nonce.script, style: view.nonce.style };
    const names = Object.keys(values);
    const { language: { tag }, site, mountPath } = view;
    const { error, failed, lastUsed, rememberMe } = page as Partial<SignInPage>;
    const parts = [page.kind, tag, site, mountPath, error, failed, lastUsed, rememberMe, names];
    const key = JSON.stringify(parts);
    const template = this.#templates.memo(key, { context: () => this.#templateOf(page, names, view) });
    // A page with many providers has the token in each form.
    const shown = Object.fromEntries(names.map((name) => [name, String(html`${values[name]}`)]));
    return template.map((part, index) => index % 2 === 0 ? part : shown[part]).join("");
  }

  #templateOf(page: Page, names: readonly string[], view: PageView): Template {
    const marks = Object.fromEntries(names.map((name) => [name, `${this.#mark}${name}-`]));
    const shown = Object.fromEntries(VARIABLES.map((name) => [name, marks[name]]));
    const nonce = { script: marks.script!, style: marks.style! };
    const rendered = renderPage({ ...page, ...shown }, { ...view, nonce });
    return rendered.split(new RegExp(`${this.#mark}(\\w+)-`));
  }
}

/** What the page shows of the request; an empty address is none. */
function variablesOf(page: Page): Values {
  const shown = page as Partial<Record<typeof VARIABLES[number], string>>;
  return Object.fromEntries(VARIABLES.filter((name) => shown[name]).map((name) => [name, shown[name]!]));
}
