/** The error page. */
import { html } from "@remix-run/html-template";
import { icon } from "./icon.ts";
import type { PageError } from "./page_error.ts";
import { beginAgain } from "./signin.ts";
import { fill } from "./texts/texts.ts";
import type { ErrorPage, PageContent, PageView } from "./types.ts";
import { waitText } from "./wait.ts";

/** Errors that another try does not help with. */
const FINAL: ReadonlySet<PageError> = new Set(["NotFound", "SessionTooLarge"]);

/** What happened, what to do next, and links to go on. */
export function errorPage(
  { error, callbackUrl = "/", signInUrl, again, csrfToken, email, ...wait }: ErrorPage,
  view: PageView,
): PageContent {
  const { texts } = view.language;
  const title = texts[`error.${error}.title`];
  const address = signInUrl ?? `${view.mountPath}/signin`;
  const form = again && beginAgain(again, { csrfToken, callbackUrl, email }, view);
  const signIn = form === undefined
    ? html`<a class="button primary" href="${address}">${texts["error.signIn"]}</a>`
    : html`${form.main}<a class="button" href="${address}">${texts["verifyRequest.back"]}</a>`;
  return {
    title,
    head: form?.head,
    main: html`${icon("error")}
<h1>${title}</h1>
<p class="text">${wait.when === undefined ? texts[`error.${error}.text`] : waitText(wait, texts)}</p>
${FINAL.has(error) ? null : signIn}
<a class="button" href="${callbackUrl}">${fill(texts["error.continue"], { site: view.site })}</a>`,
  };
}
