/** The mail with a sign-in link. */
import { html } from "@remix-run/html-template";
import type { EmailMessage } from "../types.ts";
import { readableOn } from "./colour.ts";
import type { Language } from "./language.ts";
import { fill } from "./texts/texts.ts";

/** What the mail says. */
export interface SignInMail {
  /** The sign-in link. */
  readonly url: string;
  /** When the link ends. */
  readonly expires: Date;
  /** The name of the site. */
  readonly site: string;
  readonly language: Pick<Language, "tag" | "direction" | "texts">;
  /** CSS colours of the button; an empty one is none. */
  readonly theme: { readonly brandColor?: string; readonly buttonText?: string };
}

const FONT = "font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif";

/** Writes the mail. */
export function signInMail({ url, expires, site, language, theme }: SignInMail): EmailMessage {
  const { tag, direction, texts } = language;
  const words = { site, date: dateIn(tag, expires) };
  const subject = fill(texts["email.subject"], words);
  const hints = [fill(texts["email.expires"], words), texts["email.ignore"]];
  // Core's theme has empty texts for what the application does not choose.
  const brandColor = theme.brandColor || "#346df1";
  const buttonText = theme.buttonText || (readableOn(theme.brandColor) ?? "#ffffff");
  const button = `${FONT};display:inline-block;padding:12px 24px;border-radius:8px;font-size:18px;` +
    `font-weight:bold;text-decoration:none;color:${buttonText};background:${brandColor}`;
  const document = html`
    <!doctype html>
    <html lang="${tag}" dir="${direction}">
      <head>
        <meta charset="utf-8">
        <meta name="color-scheme" content="light dark">
        <title>${subject}</title>
      </head>
      <body style="margin:0;padding:24px;text-align:center">
    <h1 style="${FONT};font-size:22px;font-weight:normal">${withoutLinks(subject)}</h1>
    <p style="margin:32px 0"><a href="${url}" target="_blank" style="${button}">${texts[
      "signIn.credentials"
    ]}</a></p>
    ${hints.map((hint) =>
      html`
        <p style="${FONT};font-size:14px">${withoutLinks(hint)}</p>
      `
    )}</body>
    </html>
  `;
  const text = `${fill(texts["email.text"], words)}\n${url}\n\n${hints.join("\n\n")}\n`;
  return { subject, text, html: String(document) };
}

/** The time zone of the reader is unknown. */
function dateIn(language: string, date: Date): string {
  return new Intl.DateTimeFormat(language, {
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "numeric",
    minute: "2-digit",
    timeZone: "UTC",
    timeZoneName: "short",
  }).format(date);
}

/** Mail programs make links of host names, which would lead elsewhere than the button. */
function withoutLinks(text: string): string {
  return text.replace(/(?<=\w)\.(?=\w)/g, "\u200b.");
}
