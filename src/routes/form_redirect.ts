/**
 * The redirect of a form on a page of the application. A policy such as that of `@fastify/helmet`
 * (`form-action 'self'`) blocks redirects to another origin after a form, and the button would seem to do nothing.
 */
import type { FastifyReply } from "fastify";
import type { RequestContext } from "../core/context.ts";
import { acceptsHtml } from "../http/accept.ts";
import { blocksForms } from "../http/form_action.ts";
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

/** A redirect that becomes a page where the reply is sent with a policy that blocks it. */
interface FormRedirect {
  readonly url: string;
  readonly page: () => Page;
  readonly place: PagePlace;
}

const FORM_REDIRECT: unique symbol = Symbol("fastify-authjs.form-redirect");

interface Holder {
  [FORM_REDIRECT]?: FormRedirect;
}

/**
 * Redirects a form. Where a policy of the reply, which the page with the form has as well, blocks that, the reply is a
 * page that goes on by itself: a new navigation, which no `form-action` applies to.
 *
 * @param page Makes the page that leads to `url`.
 */
export function sendFormRedirect(
  reply: FastifyReply,
  url: string,
  page: () => Page,
  place: PagePlace,
): FastifyReply {
  if (blocksForms(policiesOf(reply), url)) return sendPage(reply, page(), place);
  (reply as Holder)[FORM_REDIRECT] = { url, page, place };
  return reply.redirect(url, 302);
}

/**
 * Has the redirect of a form become a page, where a hook of the application has set a policy that blocks it. To be
 * called after those hooks.
 *
 * @returns The page; `undefined` where the reply stays as it is.
 */
export function unblockForm(reply: FastifyReply): string | undefined {
  const { [FORM_REDIRECT]: held } = reply as Holder;
  if (held === undefined || !blocksForms(policiesOf(reply), held.url)) return undefined;
  reply.code(200).removeHeader("location");
  return preparePage(reply, held.page(), held.place);
}

function policiesOf(reply: FastifyReply): string {
  return [reply.getHeader("content-security-policy") ?? []].flat().join(",");
}
