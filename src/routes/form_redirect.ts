/**
 * The redirect of a form on a page of the application. A policy such as that of `@fastify/helmet`
 * (`form-action 'self'`) blocks redirects to another origin after a form, and the button would seem to do
 * nothing.
 */
import type { FastifyReply } from "fastify";
import type { RequestContext } from "../core/context.ts";
import { acceptsHtml } from "../http/accept.ts";
import { blocksForms } from "../http/form_action.ts";
import { holdPayload } from "../http/late_payload.ts";
import type { Page } from "../pages/types.ts";
import { type PagePlace, preparePage, sendPage } from "./send_page.ts";

/** Whether a browser sent a form, and is redirected to another origin. */
export function leadsFormElsewhere({ method, headers, origin }: RequestContext, url: string): boolean {
  const mode = headers["sec-fetch-mode"];
  return method === "POST" && (mode === undefined || mode === "navigate") && !isWithin(url, origin.href) &&
    acceptsHtml(headers.accept);
}

function isWithin(url: string, origin: string): boolean {
  return url.startsWith(`${origin}/`) || new URL(url, origin).origin === origin;
}

/**
 * Redirects a form. Where a policy of the reply, which the page with the form has as well, blocks that, the
 * reply is a page that goes on by itself: a new navigation, which no `form-action` applies to.
 *
 * @param page Makes the page that leads to `url`.
 */
export function sendFormRedirect(
  reply: FastifyReply,
  url: string,
  page: () => Page,
  place: PagePlace,
): FastifyReply | Promise<FastifyReply> {
  if (blocksForms(policiesOf(reply), url)) return sendPage(reply, page(), place);
  // A hook of the application may set a policy that blocks it when the reply is sent.
  holdPayload(reply, () => {
    if (!blocksForms(policiesOf(reply), url)) return undefined;
    reply.code(200).removeHeader("location");
    return preparePage(reply, page(), place);
  });
  return reply.redirect(url, 302);
}

function policiesOf(reply: FastifyReply): string {
  return [reply.getHeader("content-security-policy") ?? []].flat().join(",");
}
