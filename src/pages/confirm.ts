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
            <form id="confirm" method="post"
        action="${action}">${hiddenFields(
          fields,
        )}<button class="button primary" type="submit">${texts["confirm.button"]}</button></form>
            <p class="hint">${texts["confirm.hint"]}</p>
            <script nonce="${view.nonce.script}">${html.raw`${script(automatic)}`}</script>
    `,
  };
}

/**
 * Sends the form once: a second click would use a link that is used up, and the browser drops the answer to
 * the first. A page that is rendered in advance waits until its user sees it.
 */
function script(automatic: boolean): string {
  return `const form = document.getElementById("confirm");
let sent = false;
form.addEventListener("submit", (event) => sent ? event.preventDefault() : sent = true);
addEventListener("pageshow", ({ persisted }) => persisted && (sent = false));
${automatic ? AUTOMATIC : ""}`;
}

const AUTOMATIC = `const send = () => form.requestSubmit();
if (document.prerendering) document.addEventListener("prerenderingchange", send, { once: true });
else send();`;
