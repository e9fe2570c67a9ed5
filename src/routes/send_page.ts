/** The built-in pages of replies, and the files that they load. */
import { randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { AuthInUse, RequestContext } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { onHeaders } from "../http/reply_headers.ts";
import { languageCookie } from "../pages/language_cookie.ts";
import { sourceOf } from "../pages/policy.ts";
import type { Page, PageView, Wait } from "../pages/types.ts";

type PagePlace = Pick<RequestContext, "auth" | "mountPath" | "origin">;

/** The page, rendered for the request. Sets its headers, the `Content-Security-Policy` among them, but no status. */
export async function preparePage(reply: FastifyReply, page: Page, place: PagePlace): Promise<string> {
  const { auth, mountPath, origin } = place;
  const { languages, policy, render, siteName, look } = auth.config.pages;
  const nonce = nonceOf(reply);
  const language = await languages.choose(reply.request);
  if (language.asked !== undefined) reply.header("set-cookie", languageCookie(language, place));
  // Browsers apply `form-action` to redirects, too, and a sign-in ends with one to the callback URL.
  const header = policy(nonce, "callbackUrl" in page ? sourceOf(page.callbackUrl) : undefined);
  // Helmet sets one for all pages of the application, too.
  reply.header("content-security-policy", header);
  onHeaders(reply.raw, () => reply.raw.setHeader("content-security-policy", header));
  reply.type("text/html; charset=utf-8").header("content-language", language.tag);
  const wait = "wait" in page && page.wait !== undefined ? waitIn(language.tag, page.wait) : {};
  return await render({ ...page, ...wait }, {
    language,
    languages: await languages.menu(),
    nonce,
    mountPath,
    site: siteName ?? origin.host,
    look,
    assets: (await auth.assets()).below(mountPath),
  });
}

/** How long to wait, in words such as "in 5 minutes", and in seconds for the script that counts them down. */
function waitIn(tag: string, seconds: number): Wait {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "second"];
  // A minute and a half is two minutes, and not ninety seconds.
  const when = new Intl.RelativeTimeFormat(tag).format(Math.ceil(seconds / size), unit);
  return { when, seconds: String(seconds) };
}

const UNITS = [[3600, "hour"], [60, "minute"]] as const;

/** The nonces that `@fastify/helmet` made for the reply (`enableCSPNonces`), else new ones. */
function nonceOf(reply: FastifyReply): PageView["nonce"] {
  const { cspNonce } = reply as { cspNonce?: Partial<PageView["nonce"]> | null };
  if (typeof cspNonce?.script === "string" && typeof cspNonce.style === "string") return cspNonce as PageView["nonce"];
  const nonce = randomBytes(16).toString("base64url");
  return { script: nonce, style: nonce };
}

/** In seconds. */
const YEAR = 365 * 24 * 60 * 60;

export async function sendAsset(reply: FastifyReply, file: string, auth: AuthInUse): Promise<FastifyReply> {
  const asset = (await auth.assets()).find(file);
  if (asset === undefined) throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such file.");
  return reply.type(asset.type)
    // Its name changes with its content. While processes are replaced, a page of the one may load a file from the
    // other, which has another content.
    .header("cache-control", asset.file === file ? `public, max-age=${YEAR}, immutable` : "no-cache")
    .header("x-content-type-options", "nosniff")
    .header("cross-origin-resource-policy", "same-origin")
    .send(asset.content);
}
