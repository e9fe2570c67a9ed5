/** The error page. */
import { html } from "@remix-run/html-template";
import { icon } from "./icon.ts";
import type { Language } from "./language.ts";
import type { PageError } from "./page_error.ts";
import { fill } from "./texts/texts.ts";
import type { ErrorPage, PageContent, PageView } from "./types.ts";

/** Errors that another try does not help with. */
const FINAL: ReadonlySet<PageError> = new Set(["NotFound", "SessionTooLarge"]);

/** What happened, what to do next, and links to go on. */
export function errorPage(
  { error, wait, callbackUrl = "/", signInUrl }: ErrorPage,
  view: PageView,
): PageContent {
  const { texts } = view.language;
  const title = texts[`error.${error}.title`];
  const address = signInUrl ?? `${view.mountPath}/signin`;
  const signIn = html`<a class="button primary" href="${address}">${texts["error.signIn"]}</a>`;
  return {
    title,
    main: html`${icon("error")}
<h1>${title}</h1>
<p class="text">${wait === undefined ? texts[`error.${error}.text`] : waitText(wait, view.language)}</p>
${FINAL.has(error) ? null : signIn}
<a class="button" href="${callbackUrl}">${fill(texts["error.continue"], { site: view.site })}</a>`,
  };
}

/** When to try again, such as "in 5 minutes". */
function waitText(seconds: number, { tag, texts }: Language): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "second"];
  const when = new Intl.RelativeTimeFormat(tag).format(Math.ceil(seconds / size), unit);
  return fill(texts["error.TooManyRequests.wait"], { when });
}

/** A minute and a half is two minutes, and not ninety seconds. */
const UNITS = [[3600, "hour"], [60, "minute"]] as const;
