/** The page that takes the browser on from a form. */
import { html } from "@remix-run/html-template";
import { fill } from "./texts/texts.ts";
import type { PageContent, PageView, RedirectPage } from "./types.ts";

/** The page that takes the browser on, by itself and with a link. */
export function redirectPage({ url, to }: RedirectPage, view: PageView): PageContent {
  const { texts } = view.language;
  const title = fill(texts["redirect.title"], { provider: to });
  return {
    title,
    head: html`<meta http-equiv="refresh" content="0;url=${url}">`,
    main: html`<h1>${title}</h1>
<a class="button primary" href="${url}">${texts["redirect.link"]}</a>`,
  };
}
