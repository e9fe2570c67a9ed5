/** The page that says that a sign-in link was mailed. */
import { html } from "@remix-run/html-template";
import { icon } from "./icon.ts";
import { fill } from "./texts/texts.ts";
import type { PageContent, PageView } from "./types.ts";

/** The page that says that a sign-in link was mailed. */
export function verifyRequestPage(_page: unknown, view: PageView): PageContent {
  const { texts } = view.language;
  const title = texts["verifyRequest.title"];
  return {
    title,
    main: html`${icon("mail")}
<h1>${title}</h1>
<p class="text">${fill(texts["verifyRequest.text"], { site: view.site })}</p>
<p class="hint">${texts["verifyRequest.hint"]}</p>
<a class="button" href="${view.mountPath}/signin">${texts["verifyRequest.back"]}</a>`,
  };
}
