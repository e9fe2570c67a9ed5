/**
 * The redirect of a form on a page of the application. A policy such as that of `@fastify/helmet`
 * (`form-action 'self'`) blocks redirects to another origin after a form, and the button would seem to do
 * nothing.
 */
import type { FastifyReply } from "fastify";
import type { RequestContext } from "../core/context.ts";
import { acceptsHtml } from "../http/request.ts";
import { isAuthRoute } from "../http/auth_route.ts";
import { headerText, LATE_PAYLOAD, type LateReply, onHeaders } from "../http/reply_headers.ts";
import type { Page } from "../pages/types.ts";
import { type PagePlace, preparePage, sendPage } from "./send_page.ts";

/** Whether a browser sent a form, and is redirected to another origin. */
export function leadsFormElsewhere({ method, headers, origin }: RequestContext, url: string): boolean {
  const { href } = origin;
  const mode = headers["sec-fetch-mode"];
  if (method !== "POST" || (mode !== undefined && mode !== "navigate")) return false;
  // What is no URL leads nowhere.
  return URL.canParse(url, href) && new URL(url, href).origin !== href && acceptsHtml(headers.accept);
}

/**
 * Redirects a form. If a policy of the reply, which the page with the form has as well, blocks that, the
 * reply is a page that goes on by itself: a new navigation, which no `form-action` applies to.
 *
 * @param url A URL that {@linkcode leadsFormElsewhere}.
 * @param page Makes the page that leads to `url`.
 */
export async function sendFormRedirect(
  reply: FastifyReply,
  url: string,
  page: () => Page,
  place: PagePlace,
): Promise<FastifyReply> {
  // A `redirect` callback may return "//host/path".
  const target = new URL(url, place.origin.href).href;
  if (blocksForms(headerText(reply, POLICY), target)) return await sendPage(reply, page(), place);
  // A hook of the application may set a policy that blocks it when the reply is sent.
  if (!isAuthRoute(reply.request.routeOptions.config)) {
    const html = await preparePage(reply, page(), place);
    // Its hooks all run after ours: the redirect has the page with it, whose policy is set when the headers
    // are written. Until then only hooks of the application set one.
    reply.removeHeader(POLICY);
    const { raw } = reply;
    onHeaders(raw, () => {
      if (!blocksForms(headerText(reply, POLICY), target)) return;
      raw.statusCode = 200;
      raw.removeHeader("location");
    });
    return reply.code(302).header("location", url).send(html);
  }
  (reply as LateReply)[LATE_PAYLOAD] = () => {
    if (!blocksForms(headerText(reply, POLICY), target)) return undefined;
    reply.code(200).removeHeader("location");
    return preparePage(reply, page(), place);
  };
  return reply.redirect(url, 302);
}

const POLICY = "content-security-policy";

/**
 * Whether a form on a page with these policies may not lead to a URL of another origin: browsers apply
 * `form-action` to the redirects after it, too (CSP Level 3 section 6.4.2). Of the sources only
 * those that allow every host count: a provider may redirect to a host that the policy does not name.
 *
 * @param policies The values of `Content-Security-Policy`, separated by commas.
 * @param url An absolute URL.
 */
function blocksForms(policies: string, url: string): boolean {
  const { protocol } = new URL(url);
  return policies.split(",").some((policy) => {
    const sources = formAction(policy);
    return sources !== undefined && !sources.some((source) => source === "*" || source === protocol);
  });
}

/** The sources of the first `form-action` of a policy: it is the one that counts. */
function formAction(policy: string): string[] | undefined {
  for (const directive of policy.split(";")) {
    const [name, ...sources] = directive.trim().toLowerCase().split(/\s+/);
    if (name === "form-action") return sources;
  }
}
