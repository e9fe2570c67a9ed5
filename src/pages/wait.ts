/** How long a user has to wait. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { fill, type Texts } from "./texts/texts.ts";
import type { Wait } from "./types.ts";

/** How long to wait, in words such as "in 5 minutes", and in seconds for the script that counts them down. */
export function waitIn(tag: string, seconds: number): Wait {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "second"];
  const when = new Intl.RelativeTimeFormat(tag).format(Math.ceil(seconds / size), unit);
  return { when, seconds: String(seconds) };
}

/** A minute and a half is two minutes, and not ninety seconds. */
const UNITS = [[3600, "hour"], [60, "minute"]] as const;

/** When to try again; the script replaces the words as the time goes by. */
export function waitText({ when = "", seconds }: Wait, texts: Texts): SafeHtml {
  const text = texts["error.TooManyRequests.wait"];
  return html`<span role="timer" data-seconds="${seconds}" data-text="${text}">${
    fill(text, { when })
  }</span>`;
}

/** That there were too many attempts, on the sign-in page. */
export function waitNotice(wait: Wait, texts: Texts): SafeHtml {
  const title = texts["error.TooManyRequests.title"];
  return html`<p class="alert" role="alert"><strong>${title}</strong><br>${waitText(wait, texts)}</p>`;
}
