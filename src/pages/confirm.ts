/** The page that a mailed sign-in link opens. */
import { html } from "@remix-run/html-template";
import { hiddenFields } from "./form.ts";
import { icon } from "./icon.ts";
import { fill } from "./texts/texts.ts";
import type { ConfirmPage, PageContent, PageView } from "./types.ts";

/** The page that confirms a sign-in with a POST: by a click or, if it is `automatic`, by a script. */
export function confirmPage(page: ConfirmPage, view: PageView): PageContent {
  const { texts } = view.language;
  const { action, fields, email, automatic } = page;
  const title = texts["confirm.title"];
  const text = email === undefined ? texts["confirm.text"] : texts["confirm.textAs"];
  const words = { site: view.site, ...(email !== undefined && { email }) };
  return {
    title,
    // The address has the token of the link, which stays out of `Referer`. Not "no-referrer", with which the
    // form would send `Origin: null`.
    head: html`<meta name="referrer" content="strict-origin">`,
    main: html`
            ${icon("confirm")}
      <h1>${title}</h1>
            <p class="text">${fill(text, words)}</p>
            <form id="confirm" method="post" data-automatic="${automatic}"
        action="${action}">${hiddenFields(
          fields,
        )}<button class="button primary" type="submit">${texts["confirm.button"]}</button></form>
            <p class="hint">${texts["confirm.hint"]}</p>
    `,
  };
}
