/**
 * The redirect of a form on a page of the application. A policy such as that of `@fastify/helmet`
 * (`form-action 'self'`) blocks redirects to another origin after a form, and the button would seem to do nothing.
 */
import type { FastifyReply } from "fastify";
import type { RequestContext } from "../core/context.ts";
import { acceptsHtml } from "../http/accept.ts";
import { blocksForms } from "../http/form_action.ts";
import type { Page } from "../pages/types.ts";
import { type PagePlace, sendPage } from "./send_page.ts";

/** Whether a browser sent a form, and is redirected to another origin. */
export function leadsFormElsewhere({ method, headers, origin }: RequestContext, url: string): boolean {
  const mode = headers["sec-fetch-mode"];
  return method === "POST" && (mode === undefined || mode === "navigate") && acceptsHtml(headers.accept) &&
    new URL(url, origin.href).origin !== origin.href;
}

/**
 * Redirects a form. Where a policy of the reply, which the page with the form has as well, blocks that, the reply is a
 * page that goes on by itself: a new navigation, which no `form-action` applies to.
 *
 * @param page The page that leads to `url`.
 */
export function sendFormRedirect(
  reply: FastifyReply,
  url: string,
  page: Page,
  place: PagePlace,
): FastifyReply {
  if (blocksForms(policiesOf(reply), url)) return sendPage(reply, page, place);
  reply.code(302).header("location", url);
  // A hook of the application may set the policy when the reply is sent.
  return sendPage(reply, page, place, (policy, headers) => {
    const policies = policiesOf(reply);
    if (policies === policy || !blocksForms(policies, url)) return;
    headers.setStatus(200);
    headers.remove("location");
  });
}

function policiesOf(reply: FastifyReply): string {
  return [reply.getHeader("content-security-policy") ?? []].flat().join(",");
}
