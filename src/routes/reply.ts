/** Writes an answer to a Fastify reply. */
import type { FastifyReply } from "fastify";
import type { Answer } from "../core/answer.ts";
import type { RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { FastifyAuthError } from "../errors.ts";
import { isAuthRoute } from "../http/auth_route.ts";
import { toAsciiUrl } from "../http/callback_url.ts";
import { acceptsHtml, prefersJson } from "../http/request.ts";
import { LATE_PAYLOAD, type LateReply } from "../http/late_payload.ts";
import { headerText, onHeaders } from "../http/reply_headers.ts";
import { toSetCookieLine } from "../http/set_cookie.ts";
import type { Page } from "../pages/types.ts";
import { preparePage } from "./send_page.ts";

/**
 * Sends an answer. A script gets a redirect as JSON, and an error with its status if it asks for that.
 * @throws {FastifyAuthError} The error of an answer without a redirect, for the application's error handler.
 */
export async function sendAnswer(
  reply: FastifyReply,
  { status, headers, body, page, cookies, redirect, error }: Answer,
  context: RequestContext,
): Promise<FastifyReply> {
  for (const cookie of cookies) reply.header("set-cookie", toSetCookieLine(cookie));
  const kind = await replyKind(context.headers);
  if (redirect !== undefined) {
    // `toAsciiUrl` would also leave out a default port.
    const url = /^[\0-\x7f]*$/.test(redirect) ? redirect : toAsciiUrl(redirect);
    if (kind === "redirect") return await redirectBrowser(reply, url, context);
    if (error !== undefined && kind === "status") return sendFailure(reply, error);
    // As core, which sends the header with JSON only if the request succeeded.
    if (error === undefined) reply.header("location", url);
    return sendJson(reply, 200, { url });
  }
  if (error instanceof FastifyAuthError) throw error;
  // Such as of a session update: core answers with 400 and `null`. One for a server says itself what is wrong.
  const isSaid = page !== undefined || "error_description" in Object(body);
  if (error !== undefined && !isSaid && kind === "status") return sendFailure(reply, error);
  reply.code(status).headers(headers);
  if (page !== undefined) return reply.send(await preparePage(reply, page, context));
  const type = headers["content-type"];
  if (type === "application/json") return reply.send(JSON.stringify(body ?? null));
  return reply.send(body === "" ? undefined : body);
}

/**
 * Redirects a browser. Chromium applies the `form-action` of a form's page to every redirect that follows, also to
 * those of other servers (CSP Level 3 section 6.4.2), and the button would seem to do nothing. So a form of ours that
 * leads elsewhere gets a page that goes on by itself: a new navigation, which no `form-action` applies to. So does a
 * form of the application if a policy of the reply, which the page with the form has as well, blocks the redirect:
 * `@fastify/helmet` sets `form-action 'self'`.
 */
async function redirectBrowser(reply: FastifyReply, url: string, context: RequestContext): Promise<FastifyReply> {
  const { method, headers, origin: { href }, mountPath, action, provider } = context;
  const { accept, referer = "", "sec-fetch-mode": mode = "navigate" } = headers;
  const ours = `${href}${mountPath}/`;
  // What is no URL leads nowhere, and a page of ours needs none in between.
  if (method !== "POST" || url.startsWith(ours) || !URL.canParse(url, href)) return reply.redirect(url, 302);
  // A `redirect` callback may return "//host/path".
  const target = new URL(url, href);
  const page = () => preparePage(reply, redirectPage(url, target, context), context);
  // The confirm page keeps its path, which has a token, out of the header.
  const isConfirmed = action === "callback" && provider?.type === "email" && referer === `${href}/`;
  // Our own pages redirect nowhere.
  if ((referer.startsWith(ours) || isConfirmed) && !target.href.startsWith(ours)) return reply.send(await page());
  const isBlocked = () => blocksForms(headerText(reply, POLICY), target);
  if (target.origin === href || mode !== "navigate" || !acceptsHtml(accept)) return reply.redirect(url, 302);
  if (isBlocked()) return reply.send(await page());
  // A hook of the application may set a policy that blocks it when the reply is sent.
  if (isAuthRoute(reply.request.routeOptions.config)) {
    const late = reply as LateReply;
    // Assigned directly, V8 would keep the function, and the request with it, until a full garbage collection.
    const latePage = () => {
      // If the page cannot be sent, an error is.
      late[LATE_PAYLOAD] = undefined;
      if (!isBlocked()) return undefined;
      reply.code(200).removeHeader("location");
      return page();
    };
    late[LATE_PAYLOAD] = latePage;
    return reply.redirect(url, 302);
  }
  const html = await page();
  // On its own routes all hooks run after ours: the redirect has the page with it, whose policy is set when the headers
  // are written. Until then only hooks of the application set one.
  reply.removeHeader(POLICY);
  const { raw } = reply;
  onHeaders(raw, () => {
    if (!isBlocked()) return;
    raw.statusCode = 200;
    raw.removeHeader("location");
  });
  return reply.code(302).header("location", url).send(html);
}

function redirectPage(url: string, { host }: URL, { origin, provider, config }: RequestContext): Page {
  const { siteName = origin.host, providers } = config.pages;
  // With the other types a sign-in leads to an address of the application.
  const name = provider?.isOAuth ? providers.find(({ id }) => id === provider.id)?.name : undefined;
  return { kind: "redirect", url, to: host === origin.host ? siteName : name ?? host };
}

const POLICY = "content-security-policy";

/**
 * Whether a form on a page with these policies may not lead to a URL of another origin. Of the sources only those that
 * allow every host count: a provider may redirect to a host that the policy does not name.
 */
function blocksForms(policies: string, { protocol }: URL): boolean {
  return policies.toLowerCase().split(",").some((policy) => {
    const directives = policy.split(";").map((directive) => directive.trim().split(/\s+/));
    // The first one of a policy counts.
    const [, ...sources] = directives.find(([name]) => name === "form-action") ?? ["", "*"];
    return !sources.includes("*") && !sources.includes(protocol);
  });
}

/** As JSON, as far as a client may know of it. */
export function sendFailure(reply: FastifyReply, failure: Error): FastifyReply {
  const { status, error, code, message, retryAfter } = failureOf(failure);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  return sendJson(reply, status, { error, ...(code && { code }), ...(message && { message }) });
}

function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  return reply.code(status).header("content-type", "application/json").send(JSON.stringify(body));
}

/**
 * How a client is told where a request leads:
 *
 * - `redirect`: by a redirect, as browsers follow it.
 * - `url`: by `{ url }` with the status 200, also if the request failed, as core's clients read it.
 * - `status`: by `{ url }` if the request succeeded, else by `{ error, code }` with the error's status.
 *
 * The header of core comes before `Accept`: HTTP libraries accept JSON unasked.
 */
export async function replyKind(headers: RequestContext["headers"]): Promise<"redirect" | "url" | "status"> {
  const asked = headers["x-auth-return-redirect"];
  if (asked === undefined) return await prefersJson(headers.accept) ? "status" : "redirect";
  return String(asked).toLowerCase().split(/[\s,;]+/).includes("prefer-status") ? "status" : "url";
}
