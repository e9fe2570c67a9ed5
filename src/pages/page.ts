/** The HTML of the pages that the plugin shows if the application has none of its own. */
import { html, type SafeHtml } from "@remix-run/html-template";
import type { PagePanel } from "../types.ts";
import { DARK, LIGHT } from "./colour.ts";
import type { LanguageName } from "./language_choice.ts";
import * as messages from "./messages.ts";
import { attributes, drawing, fragment } from "./parts.ts";
import { signInPage } from "./signin.ts";
import { fill } from "./texts/texts.ts";
import type { Look, Page, PageContent, PageOf, PageView } from "./types.ts";

const PAGES: { readonly [Kind in Page["kind"]]: (page: PageOf<Kind>, view: PageView) => PageContent } = {
  signIn: signInPage,
  signInAgain: signInPage,
  addPasskey: messages.addPasskeyPage,
  signedIn: messages.signedInPage,
  signedOut: messages.signedOutPage,
  signOut: messages.signOutPage,
  verifyRequest: messages.verifyRequestPage,
  confirm: messages.confirmPage,
  redirect: messages.redirectPage,
  error: messages.errorPage,
};

export function renderPage(page: Page, view: PageView): string {
  const { title, main, head } = PAGES[page.kind](page as never, view);
  const { language, look, assets } = view;
  return String(html`
    <!doctype html>
    <html lang="${language.tag}" dir="${language.direction}" data-color-scheme="${look.colorScheme}">
      <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${title} · ${view.site}</title>
    ${themeColours(look)}
    ${look.favicon && html`<link rel="icon" href="${look.favicon}">`}
    <link rel="stylesheet" href="${assets.address("style.css")}">
    ${look.style && html`<link rel="stylesheet" href="${look.style}">`}
    <script src="${assets.address("page.js")}" nonce="${view.nonce.script}" defer></script>
    ${head}
      </head>
      <body data-page="${page.kind}">
    ${look.panel && page.kind === "signIn" ? panelOf(look.panel, view) : null}
        <main class="card">
    ${logoOf(look)}
    ${main}
    <p class="progress" aria-live="polite" data-text="${language.texts["form.busy"]}"></p>
        </main>
    ${footerOf(page, view)}
      </body>
    </html>
  `);
}

/** In the scheme of the user, unless the application has chosen one. */
function logoOf({ logo, darkLogo, colorScheme }: Look): SafeHtml | null {
  if (logo === undefined) return null;
  const chosen = colorScheme === "dark" ? darkLogo ?? logo : logo;
  const source = darkLogo !== undefined && colorScheme === "auto"
    ? html`<source media="(prefers-color-scheme: dark)" srcset="${darkLogo}">`
    : null;
  return html`<picture>${source}<img class="logo" src="${chosen}" alt=""></picture>`;
}

function themeColours({ themeColor, colorScheme }: Look): SafeHtml {
  const chosen = themeColor ??
    (colorScheme === "auto" ? undefined : (colorScheme === "dark" ? DARK : LIGHT).background);
  if (chosen !== undefined) return html`<meta name="theme-color" content="${chosen}">`;
  return html`<meta name="theme-color" content="${LIGHT.background}">
<meta name="theme-color" media="(prefers-color-scheme: dark)" content="${DARK.background}">`;
}

function panelOf({ image }: PagePanel, { language: { texts }, site }: PageView): SafeHtml {
  return html`<aside class="panel">
${image && html`<img src="${image}" alt="">`}
<p class="welcome">${fill(texts["panel.title"], { site })}</p>
<p>${fill(texts["panel.text"], { site })}</p></aside>`;
}

function footerOf({ menuQuery }: Page, view: PageView): SafeHtml | null {
  const { look: { links = {} }, language: { texts }, languages = [] } = view;
  const menu = menuQuery !== undefined && languages.length > 1 ? languageMenu(menuQuery, view) : null;
  const shown = (["terms", "privacy", "help"] as const).filter((name) => links[name] !== undefined);
  if (shown.length === 0 && menu === null) return null;
  return html`<footer class="links">${
    shown.map((name) => html`<a href="${links[name]}">${texts[`link.${name}`]}</a>`)
  }${menu}</footer>`;
}

/** The language of the page, and links to it in the others. Without a script, browsers open the menu. */
function languageMenu(query: string, { language: { tag, texts }, languages = [] }: PageView): SafeHtml {
  const shown = languages.find((each) => each.tag === tag)?.name ?? tag;
  const link = (each: LanguageName) =>
    attributes({
      href: `${query}lang=${each.tag}`,
      lang: each.tag,
      hreflang: each.tag,
      "aria-current": each.tag === tag && "true",
    });
  return html`
    <nav class="languages" aria-label="${texts["language.title"]}">
      <button type="button" popovertarget="languages">${drawing("language", 16)}${shown}</button>
      <ul id="languages" popover>${languages.map((each) => fragment`<li><a${link(each)}>${each.name}</a></li>`)}</ul>
    </nav>
  `;
}
