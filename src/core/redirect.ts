/** The redirect that the configuration allows. */
import type { RequestContext } from "./context.ts";

/**
 * The result of the `redirect` callback. Without a callback, as in core, the URL itself, or the public origin
 * where the URL is on another origin.
 *
 * @throws What the callback throws.
 */
export async function allowedRedirect(url: string, { origin, config }: RequestContext): Promise<string> {
  const baseUrl = origin.href;
  const { redirect } = config.core.callbacks ?? {};
  if (redirect) return await redirect({ url, baseUrl });
  if (url.startsWith("/")) return `${baseUrl}${url}`;
  return URL.canParse(url) && new URL(url).origin === baseUrl ? url : baseUrl;
}
