/** The mail with a sign-in link. */
import type { Theme } from "@auth/core/types";
import type { EmailMessage } from "../types.ts";
import { BRAND, DARK, LIGHT, readableOn } from "./colour.ts";
import type { Language } from "./language.ts";
import { fragment } from "./parts.ts";
import { fill } from "./texts/texts.ts";

interface SignInMail {
  readonly url: string;
  /** Six digits. */
  readonly code: string;
  /** How long they work. */
  readonly codeSeconds: number;
  readonly expires: Date;
  readonly site: string;
  readonly language: Pick<Language, "tag" | "direction" | "texts">;
  /** The browser and the system that asked, as far as they are known. */
  readonly device: readonly string[];
  /** That of core, in which what the application does not choose is empty. */
  readonly theme: Theme;
}

const FONT = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** A table for the layout: Word, by which Outlook shows mails, knows no other, and no `max-width`. */
const TABLE = fragment.raw`table role="presentation" cellpadding="0" cellspacing="0" border="0"`;

/** For programs with a dark mode; the others have the colours of the attributes. */
const DARK_RULES = fragment.raw`@media (prefers-color-scheme:dark){
.page{background:${DARK.background}!important}
.card{background:${DARK.card}!important;border-color:${DARK.border}!important}
.text{color:${DARK.text}!important}
.muted{color:${DARK.muted}!important}
}`;

export function signInMail(
  { url, code, codeSeconds, expires, site, language, device, theme }: SignInMail,
): EmailMessage {
  const { tag, direction, texts } = language;
  const words = {
    site,
    code,
    time: new Intl.NumberFormat(tag, { style: "unit", unit: "minute", unitDisplay: "long" })
      .format(Math.max(1, Math.floor(codeSeconds / 60))),
    date: dateIn(tag, expires),
    device: device.join(" · "),
  };
  const title = fill(texts["email.subject"], words);
  const enter = texts["email.code"];
  const link = fill(texts["email.text"], words);
  const hints = [
    fill(texts["email.expires"], words),
    fill(texts["email.codeExpires"], words),
    ...(device.length > 0 ? [fill(texts["email.device"], words)] : []),
    texts["email.ignore"],
  ];
  const { colorScheme = "auto" } = theme;
  const scheme = colorScheme === "auto" ? "light dark" : colorScheme;
  const { background, card, border, text, muted } = colorScheme === "dark" ? DARK : LIGHT;
  const brand = theme.brandColor || BRAND;
  const onBrand = theme.buttonText || (readableOn(brand) ?? "#ffffff");
  const strong = `${FONT};font-weight:600;color:${text}`;
  const plain = `${FONT};font-size:14px;line-height:1.5;color:${muted}`;
  const button = `${FONT};display:inline-block;padding:12px 28px;border-radius:10px;font-size:16px;` +
    `font-weight:600;text-decoration:none;color:${onBrand};background:${brand}`;
  const head = theme.logo
    ? fragment`<img src="${new URL(theme.logo, url).href}" alt="${site}" height="40" style="border:0">`
    : withoutLinks(site);
  const document = fragment`<!doctype html>
<html lang="${tag}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${scheme}">
<meta name="supported-color-schemes" content="${scheme}">
<title>${title}</title>
<style>${colorScheme === "auto" ? DARK_RULES : null}</style>
</head>
<body class="page" style="margin:0;padding:0;background:${background}">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${withoutLinks(hints[0]!)}${AFTER_PREVIEW}</div>
<${TABLE} class="page" width="100%" style="background:${background}">
<tr><td align="center" style="padding:32px 12px">
<!--[if mso]><${TABLE} width="480"><tr><td><![endif]-->
<${TABLE} class="card" width="100%" style="max-width:480px;border:1px solid ${border};
border-collapse:separate;border-radius:16px;background:${card}">
<tr><td align="center" style="padding:32px 24px">
<p class="text" style="margin:0 0 16px;${strong};font-size:16px">${head}</p>
<h1 class="text" style="margin:0 0 24px;${strong};font-size:22px;line-height:1.3">${withoutLinks(title)}</h1>
<p class="muted" style="margin:0;${plain}">${enter}</p>
<p class="text" dir="ltr" style="margin:8px 0 24px;${strong};font-size:32px;letter-spacing:6px">${code}</p>
<${TABLE} align="center"><tr>
<td style="border-radius:10px;background:${brand};mso-padding-alt:12px 28px">
<a href="${url}" target="_blank" style="${button}">${texts["signIn.credentials"]}</a></td></tr></table>
<p class="muted" style="margin:24px 0 4px;${plain}">${withoutLinks(link)}</p>
<p dir="ltr" style="margin:0 0 24px;font-size:12px;word-break:break-all"><a class="muted" href="${url}"
target="_blank" style="${plain};font-size:12px">${url}</a></p>
${hints.map((hint) => fragment`<p class="muted" style="margin:0 0 8px;${plain}">${withoutLinks(hint)}</p>`)}
</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</body>
</html>
`;
  return {
    subject: fill(texts["email.codeSubject"], words),
    text: `${enter}\n${code}\n\n${link}\n${url}\n\n${hints.join("\n\n")}\n`,
    html: String(document),
  };
}

/** Else programs fill up the preview in their list of mails with what follows. */
const AFTER_PREVIEW = "\u034f\u200c\u00a0".repeat(40);

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
