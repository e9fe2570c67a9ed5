/** How long a user has to wait. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { fill, type Texts } from "./texts/texts.ts";
import type { Wait } from "./types.ts";

/** When to try again; the script replaces the words as the time goes by. */
export function waitText({ when = "", seconds }: Wait, texts: Texts): SafeHtml {
  const text = texts["error.TooManyRequests.wait"];
  return html`<span role="timer" data-seconds="${seconds}" data-text="${text}">${fill(text, { when })}</span>`;
}

/** That there were too many attempts, on the sign-in page. */
export function waitNotice(wait: Wait, texts: Texts): SafeHtml {
  const title = texts["error.TooManyRequests.title"];
  return html`<p class="alert" role="alert"><strong>${title}</strong><br>${waitText(wait, texts)}</p>`;
}
