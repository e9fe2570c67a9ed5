/** Sends a built-in page, and the files that it loads. */
import { stringifySetCookie } from "cookie";
import { randomBytes } from "node:crypto";
import type { FastifyReply } from "fastify";
import type { AuthInUse, RequestContext } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { onHeaders } from "../http/reply_headers.ts";
import type { Language } from "../pages/language.ts";
import { LANGUAGE_COOKIE } from "../pages/language_choice.ts";
import { sourceOf } from "../pages/policy.ts";
import type { Nonce, Page, Wait } from "../pages/types.ts";

/** Where a page is shown. */
export type PagePlace = Pick<RequestContext, "auth" | "mountPath" | "origin">;

/** Sends a page, with its `Content-Security-Policy`. The status is that of the reply. */
export async function sendPage(reply: FastifyReply, page: Page, place: PagePlace): Promise<FastifyReply> {
  return reply.send(await preparePage(reply, page, place));
}

/**
 * Sets the headers of a page, its `Content-Security-Policy` among them.
 *
 * @returns The page, rendered for the request.
 */
export async function preparePage(reply: FastifyReply, page: Page, place: PagePlace): Promise<string> {
  const { auth, mountPath, origin } = place;
  const settings = auth.config.pages;
  const nonce = nonceOf(reply);
  const language = await settings.languages.choose(reply.request);
  if (language.asked !== undefined) keepLanguage(reply, language, place);
  const policy = settings.policy.header(nonce, callbackSource(page));
  // Helmet sets one for all pages of the application, too.
  reply.header("content-security-policy", policy);
  onHeaders(reply.raw, () => reply.raw.setHeader("content-security-policy", policy));
  reply.type("text/html; charset=utf-8").header("content-language", language.tag);
  const wait = "wait" in page && page.wait !== undefined ? waitIn(language.tag, page.wait) : {};
  return await settings.render({ ...page, ...wait }, {
    language,
    languages: await settings.languages.menu(),
    nonce,
    mountPath,
    site: settings.siteName ?? origin.host,
    look: settings.look,
    assets: (await auth.assets()).below(mountPath),
  });
}

/** How long to wait, in words such as "in 5 minutes", and in seconds for the script that counts them down. */
function waitIn(tag: string, seconds: number): Wait {
  const [size, unit] = UNITS.find(([size]) => seconds >= size) ?? [1, "second"];
  const when = new Intl.RelativeTimeFormat(tag).format(Math.ceil(seconds / size), unit);
  return { when, seconds: String(seconds) };
}

/** A minute and a half is two minutes, and not ninety seconds. */
const UNITS = [[3600, "hour"], [60, "minute"]] as const;

/** What was chosen in the menu is kept for a year, in seconds. */
const YEAR = 365 * 24 * 60 * 60;

/** Keeps the language for the pages and mails that follow; that of `ui_locales` until the browser is closed. */
function keepLanguage(reply: FastifyReply, { tag, asked }: Language, { mountPath, origin }: PagePlace): void {
  // The path of a cookie cannot have a semicolon.
  const path = mountPath.replace(/\/[^/]*;.*$/, "") || "/";
  const lifetime = asked === "lang" ? { maxAge: YEAR } : {};
  const options = { ...lifetime, path, httpOnly: true, sameSite: "lax", secure: origin.secure } as const;
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

/** A year, in seconds: the name changes with the content. */
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Sends a file below `<prefix>/assets/`, of the configuration that the request is for. */
export async function sendAsset(reply: FastifyReply, file: string, auth: AuthInUse): Promise<FastifyReply> {
  const asset = (await auth.assets()).find(file);
  if (asset === undefined) throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such file.");
  return reply
    .type(asset.type)
    // While processes are replaced, a page of the one may load a file from the other, which has another
    // content.
    .header("cache-control", asset.file === file ? IMMUTABLE : "no-cache")
    .header("x-content-type-options", "nosniff")
    .header("cross-origin-resource-policy", "same-origin")
    .send(asset.content);
}
