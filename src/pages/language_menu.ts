/** The menu of languages on a page: links to the same page, with the parameter `lang`. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { attributes, fragment } from "./form.ts";
import { drawing } from "./icon.ts";
import type { LanguageName } from "./language_choice.ts";
import type { PageView } from "./types.ts";

/** The button with the language of the page, and what it opens. Without a script, browsers do that. */
export function languageMenu(
  query: string,
  { language: { tag, texts }, languages = [] }: PageView,
): SafeHtml {
  const shown = languages.find((each) => each.tag === tag)?.name ?? tag;
  return html`
    <nav class="languages" aria-label="${texts["language.title"]}">
      <button type="button" popovertarget="languages">${drawing("language", 16)}${shown}</button>
      <ul id="languages" popover>${languages.map((each) => linkTo(each, query, tag))}</ul>
    </nav>
  `;
}

function linkTo({ tag, name }: LanguageName, query: string, current: string): SafeHtml {
  const link = {
    href: `${query}lang=${tag}`,
    lang: tag,
    hreflang: tag,
    "aria-current": tag === current ? "true" : undefined,
  };
  return fragment`<li><a${attributes(link)}>${name}</a></li>`;
}
