/** The HTML of the pages that the plugin shows if the application has none of its own. */
import { html } from "@remix-run/html-template";
import { confirmPage } from "./confirm.ts";
import { errorPage } from "./error.ts";
import { redirectPage } from "./redirect.ts";
import { signedInPage } from "./signed_in.ts";
import { signInPage } from "./signin.ts";
import { signedOutPage, signOutPage } from "./signout.ts";
import type { Page, PageContent, PageView } from "./types.ts";
import { verifyRequestPage } from "./verify_request.ts";

/** The HTML document of a page. */
export function renderPage(page: Page, view: PageView): string {
  const { title, main, head } = contentOf(page, view);
  const { language, look, assets } = view;
  return String(html`
    <!doctype html>
    <html lang="${language.tag}" dir="${language.direction}" data-color-scheme="${look.colorScheme}">
      <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title} · ${view.site}</title>
    <link rel="stylesheet" href="${assets.address("style.css")}">
    ${look.style && html`<link rel="stylesheet" href="${look.style}">`}
    <script src="${assets.address("page.js")}" nonce="${view.nonce.script}" defer></script>
    ${head}
      </head>
      <body data-page="${page.kind}">
        <main class="card">
    ${look.logo && html`<img class="logo" src="${look.logo}" alt="">`}
    ${main}
    <p class="progress" aria-live="polite" data-text="${language.texts["form.busy"]}"></p>
        </main>
      </body>
    </html>
  `);
}

function contentOf(page: Page, view: PageView): PageContent {
  switch (page.kind) {
    case "signIn":
    case "stepUp":
      return signInPage(page, view);
    case "signedIn":
      return signedInPage(page, view);
    case "signedOut":
      return signedOutPage(page, view);
    case "signOut":
      return signOutPage(page, view);
    case "verifyRequest":
      return verifyRequestPage(page, view);
    case "confirm":
      return confirmPage(page, view);
    case "redirect":
      return redirectPage(page, view);
    case "error":
      return errorPage(page, view);
  }
}
