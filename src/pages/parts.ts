/** The parts of pages: forms, fields, buttons, drawings. */
import { html, type HtmlTemplateTag, type SafeHtml } from "@remix-run/html-template";
import { fill, type Texts } from "./texts/texts.ts";
import type { Wait } from "./types.ts";

/** `html` under a name that the formatter leaves alone: it would add spaces and break tags. */
export const fragment: HtmlTemplateTag = html;

type Content = Parameters<HtmlTemplateTag>[1];

/** By their names: `true` for one without a value, `undefined` or `false` for none. */
type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Attributes, each with a space before it. */
export function attributes(values: Attributes): SafeHtml[] {
  return Object.entries(values)
    // A name that could end the tag is no attribute.
    .filter(([name, value]) => value !== undefined && value !== false && /^[a-z][\w-]*$/i.test(name))
    .map(([name, value]) => value === true ? fragment.raw` ${name}` : fragment` ${fragment.raw`${name}`}="${value}"`);
}

/** A form that is posted, with hidden fields; those that are `undefined` are left out. */
export function postForm(action: string, hidden: Attributes, content: Content, others: Attributes = {}): SafeHtml {
  return fragment`<form${attributes({ method: "post", action, ...others })}>${hiddenFields(hidden)}${content}</form>`;
}

function hiddenFields(fields: Attributes): SafeHtml[] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => fragment`<input${attributes({ type: "hidden", name, value })}>`);
}

export function submitButton(content: Content, { primary = false, ...others }: Attributes = {}): SafeHtml {
  const button = { class: primary ? "button primary" : "button", type: "submit", ...others };
  return fragment`<button${attributes(button)}>${content}</button>`;
}

export function linkButton(href: string, text: string, primary = false): SafeHtml {
  return html`<a class="${primary ? "button primary" : "button"}" href="${href}">${text}</a>`;
}

/** A field with its label, and what is the matter with it. A password can be shown. */
export function labelledField(
  field: { readonly name: string; readonly attributes: Attributes },
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
  const button = {
    class: "reveal",
    type: "button",
    "aria-controls": id,
    "data-other": texts["password.hide"],
    hidden: true,
  };
  return html`
    <div class="secret">${input}${fragment`<button${attributes(button)}>${texts["password.show"]}</button>`}</div>
    <p class="caps" aria-live="polite" data-text="${texts["password.capsLock"]}"></p>
  `;
}

/** Paths in a square of 24. */
const DRAWINGS = {
  error: "M12 8v5m0 3.2v.1M12 3.5 21 19.5H3z",
  mail: "M3.5 6h17v12h-17zM4 6.5l8 6.5 8-6.5",
  signOut: "M14 4.5H5.5v15H14M10 12h10m-3.5-3.5L20 12l-3.5 3.5",
  confirm: "M4.5 12.5l5 5 10-11",
  language: "M12 3a9 9 0 0 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c6 6 6 12 0 18-6-6-6-12 0-18",
};

export type Drawing = keyof typeof DRAWINGS;

/** It says nothing that the text beside it does not say. */
export function drawing(name: Drawing, size: number): SafeHtml {
  return html`
    <svg class="line" viewBox="0 0 24 24" width="${size}" height="${size}" aria-hidden="true">
      <path d="${DRAWINGS[name]}" />
    </svg>
  `;
}

/** When to try again; the script replaces the words as the time goes by. */
export function waitText({ when = "", seconds }: Wait, texts: Texts): SafeHtml {
  const text = texts["error.TooManyRequests.wait"];
  return html`<span role="timer" data-seconds="${seconds}" data-text="${text}">${fill(text, { when })}</span>`;
}
