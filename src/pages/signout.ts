/** The pages before and after a sign-out. */
import { html } from "@remix-run/html-template";
import { hiddenFields } from "./form.ts";
import { icon } from "./icon.ts";
import { fill } from "./texts/texts.ts";
import type { PageContent, PageView, SignOutPage } from "./types.ts";

/** The page that asks whether to sign out. */
export function signOutPage({ csrfToken, callbackUrl, returnUrl }: SignOutPage, view: PageView): PageContent {
  const { texts } = view.language;
  const title = texts["signOut.title"];
  return {
    title,
    main: html`
            ${icon("signOut")}
      <h1>${title}</h1>
            <p class="text">${fill(texts["signOut.question"], { site: view.site })}</p>
            <form method="post"
        action="${view.mountPath}/signout">${hiddenFields({
          csrfToken,
          callbackUrl: returnUrl,
        })}<button class="button primary" type="submit">${texts["signOut.button"]}</button></form>
            <a class="button" href="${callbackUrl ?? "/"}">${texts["signOut.cancel"]}</a>
    `,
  };
}

/** The page that says that the user has signed out. */
export function signedOutPage(_page: unknown, view: PageView): PageContent {
  const { texts } = view.language;
  const title = texts["signedOut.title"];
  const words = { site: view.site };
  return {
    title,
    main: html`${icon("signOut")}
<h1>${title}</h1>
<p class="text">${fill(texts["signedOut.text"], words)}</p>
<a class="button primary" href="${view.mountPath}/signin">${texts["error.signIn"]}</a>
<a class="button" href="/">${fill(texts["error.continue"], words)}</a>`,
  };
}
