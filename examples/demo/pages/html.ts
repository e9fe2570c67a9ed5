import type { FastifyReply } from "fastify";

/** Markup: it goes into other markup as it is, while strings are escaped. */
export class Html {
  constructor(readonly text: string) {}
}

export type Content = Html | string | number | null | undefined | false | readonly Content[];

/** Makes markup from a template, in which every value that is not markup itself is escaped. */
export function html(strings: TemplateStringsArray, ...values: Content[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(toMarkup)));
}

function toMarkup(content: Content): string {
  if (content === null || content === undefined || content === false) return "";
  if (content instanceof Html) return content.text;
  if (Array.isArray(content)) return content.map(toMarkup).join("");
  return escape(String(content));
}

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/** Nothing but the demo's own files, whatever might slip into a page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...["style", "script", "img", "connect", "frame"].map((kind) => `${kind}-src 'self'`),
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Sends a page. It may show the signed-in user, so no cache may keep it. */
export function sendPage(reply: FastifyReply, page: Html): FastifyReply {
  return reply
    .type("text/html; charset=utf-8")
    .headers({
      "cache-control": "no-store",
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "referrer-policy": "same-origin",
      "x-content-type-options": "nosniff",
    })
    .send(page.text);
}
