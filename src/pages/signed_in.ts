/** The page for a user who is signed in already. */
import { html } from "@remix-run/html-template";
import { hiddenFields } from "./form.ts";
import { icon } from "./icon.ts";
import { fill } from "./texts/texts.ts";
import type { PageContent, PageView, SignedInPage } from "./types.ts";

/** Continues, or switches the account: signed in, another one would be linked to the user. */
export function signedInPage(
  { name, csrfToken, callbackUrl, returnUrl }: SignedInPage,
  view: PageView,
): PageContent {
  const { texts } = view.language;
  const title = name === undefined ? texts["signedIn.title"] : fill(texts["signedIn.titleAs"], { name });
  return {
    title,
    main: html`
      ${icon("confirm")}
      <h1>${title}</h1>
      <a class="button primary" href="${callbackUrl ?? "/"}">${fill(texts["error.continue"], {
        site: view.site,
      })}</a>
      <form method="post"
        action="${view.mountPath}/signout">${hiddenFields({
          csrfToken,
          callbackUrl: returnUrl,
        })}<button class="button" type="submit">${texts["signedIn.switch"]}</button></form>
    `,
  };
}
