/** Sends a built-in page. */
import { stringifySetCookie } from "cookie";
import { randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { PageSettings } from "../config/pages.ts";
import { hostOf, type PublicOrigin } from "../http/origin.ts";
import { beforeHeaders, type LateReply } from "../http/late_headers.ts";
import type { Assets } from "../pages/assets.ts";
import { LANGUAGE_COOKIE } from "../pages/language.ts";
import { sourceOf } from "../pages/policy.ts";
import type { Nonce, Page } from "../pages/types.ts";

/** Where a page is shown. */
export interface PagePlace {
  readonly settings: PageSettings;
  readonly assets: Assets;
  readonly mountPath: string;
  readonly origin: PublicOrigin;
}

/**
 * Renders a page for the request, with its `Content-Security-Policy`. The status is that of the reply.
 *
 * @param change Changes the reply when its headers are written, before the policy takes the place of another.
 */
export function sendPage(
  reply: FastifyReply,
  page: Page,
  place: PagePlace,
  change: (policy: string, headers: LateReply) => void = () => {},
): FastifyReply {
  const { settings, assets, mountPath, origin } = place;
  const nonce = nonceOf(reply);
  const language = settings.languages.choose(reply.request);
  if (language.asked) keepLanguage(reply, language.tag, place);
  const policy = settings.policy.header(nonce, callbackSource(page));
  // Helmet sets one for all pages of the application, too.
  reply.header("content-security-policy", policy);
  beforeHeaders(reply, (headers) => {
    change(policy, headers);
    headers.set("content-security-policy", policy);
  });
  return reply.type("text/html; charset=utf-8").header("content-language", language.tag).send(
    settings.templates.render(page, {
      language,
      nonce,
      mountPath,
      site: settings.siteName ?? hostOf(origin),
      look: settings.look,
      assets: assets.below(mountPath),
    }),
  );
}

/** Keeps the language of `ui_locales` for the pages and mails that follow, until the browser is closed. */
function keepLanguage(reply: FastifyReply, tag: string, { mountPath, origin }: PagePlace): void {
  const options = { path: mountPath, httpOnly: true, sameSite: "lax", secure: origin.secure } as const;
  reply.header("set-cookie", stringifySetCookie(LANGUAGE_COOKIE, tag, options));
}

/** Browsers apply `form-action` to redirects, too, and a sign-in ends with one to the callback URL. */
function callbackSource(page: Page): string | undefined {
  return "callbackUrl" in page ? sourceOf(page.callbackUrl) : undefined;
}

/** The nonces that `@fastify/helmet` made for the reply (`enableCSPNonces`), else new ones. */
function nonceOf(reply: FastifyReply): Nonce {
  const { cspNonce } = reply as { cspNonce?: Partial<Nonce> | null };
  if (typeof cspNonce?.script === "string" && typeof cspNonce.style === "string") return cspNonce as Nonce;
  const nonce = randomBytes(16).toString("base64url");
  return { script: nonce, style: nonce };
}
