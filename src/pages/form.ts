/** The forms of the pages. */
import { html, type HtmlTemplateTag, type SafeHtml } from "@remix-run/html-template";
import type { Texts } from "./texts/texts.ts";
import type { FieldView } from "./types.ts";

/** `html` under a name that the formatter leaves alone: it would add spaces and break tags. */
export const fragment: HtmlTemplateTag = html;

/** Attributes, each with a space before it: `true` for one without a value, `undefined` for none. */
export function attributes(values: Readonly<Record<string, string | true | undefined>>): SafeHtml[] {
  return Object.entries(values)
    // A name that could end the tag is no attribute.
    .filter(([name, value]) => value !== undefined && /^[a-z][\w-]*$/i.test(name))
    .map(([name, value]) => value === true ? fragment.raw` ${name}` : fragment` ${fragment.raw`${name}`}="${value}"`);
}

/** Hidden fields; those that are `undefined` are left out. */
export function hiddenFields(fields: Readonly<Record<string, string | undefined>>): SafeHtml[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => fragment`<input${attributes({ type: "hidden", name, value })}>`);
}

/** A field with its label, and what is the matter with it. A password can be shown. */
export function labelledField(
  field: FieldView,
  label: string,
  id: string,
  { message, texts }: { message: SafeHtml; texts: Texts },
): SafeHtml {
  const { type = "text" } = field.attributes;
  const input = fragment`<input${attributes({ ...field.attributes, id, name: field.name, type })}>`;
  if (type === "hidden") return input;
  const labelled = html`<label for="${id}">${label}</label>`;
  return type === "checkbox"
    ? html`<div class="field check">${input}${labelled}</div>`
    : html`<div class="field">${labelled}${type === "password" ? withReveal(input, id, texts) : input}${message}</div>`;
}

/** A password with a button that shows it, and a hint about the caps lock: both by the script. */
function withReveal(input: SafeHtml, id: string, texts: Texts): SafeHtml {
  return html`
    <div
      class="secret">${input}<button class="reveal" type="button" aria-controls="${id}" data-other="${texts[
        "password.hide"
      ]}" hidden>${texts["password.show"]}</button></div>
    <p class="caps" aria-live="polite" data-text="${texts["password.capsLock"]}"></p>
  `;
}
