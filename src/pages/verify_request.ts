/** The page that says that a sign-in link was mailed. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { hiddenFields, labelledField } from "./form.ts";
import { icon } from "./icon.ts";
import { fill, type Texts } from "./texts/texts.ts";
import type { PageContent, PageView, VerifyRequestPage } from "./types.ts";

/** The page that says that a sign-in link was mailed, and takes the code of the mail in the browser that asked. */
export function verifyRequestPage(page: VerifyRequestPage, view: PageView): PageContent {
  const { texts } = view.language;
  const title = texts["verifyRequest.title"];
  const text = texts[page.action === undefined ? "verifyRequest.text" : "verifyRequest.codeText"];
  const notice = page.error && html`<p class="alert" role="alert">${texts[`error.${page.error}`]}</p>`;
  return {
    title,
    main: html`${icon("mail")}
<h1>${title}</h1>
<p class="text">${fill(text, { site: view.site })}</p>
${page.action === undefined ? notice : codeForm(page, notice, texts)}
<p class="hint">${texts["verifyRequest.hint"]}</p>
<a class="button" href="${view.mountPath}/signin">${texts["verifyRequest.back"]}</a>`,
  };
}

const FIELD = {
  autocomplete: "one-time-code",
  autofocus: true,
  dir: "ltr",
  inputmode: "numeric",
  maxlength: "20",
  required: true,
} as const;

function codeForm(
  { action, csrfToken, error }: VerifyRequestPage,
  notice: SafeHtml | undefined,
  texts: Texts,
): SafeHtml {
  const failed = error && { "aria-describedby": "code-error", "aria-invalid": "true" };
  const message = html`<div id="code-error">${notice}</div>`;
  const field = labelledField(
    { name: "code", attributes: { ...FIELD, ...failed } },
    texts["field.code"],
    "code",
    { message, texts },
  );
  return html`<form method="post" action="${action}">${hiddenFields({ csrfToken })}${field}
<button class="button primary" type="submit">${texts["signIn.credentials"]}</button></form>`;
}
