/**
 * Where a browser may be sent.
 *
 * @module
 */
import type { RequestContext } from "./context.ts";

/**
 * The address that the `redirect` callback allows in place of another one; without a callback, the origin in place of
 * another origin, as in core.
 *
 * @param url A path, or an absolute URL.
 * @throws What the callback throws.
 */
export async function allowedRedirect(url: string, { origin, config }: RequestContext): Promise<string> {
  const baseUrl = origin.href;
  const { redirect } = config.core.callbacks ?? {};
  if (redirect) return await redirect({ url, baseUrl });
  if (url.startsWith("/")) return `${baseUrl}${url}`;
  return URL.canParse(url) && new URL(url).origin === baseUrl ? url : baseUrl;
}
