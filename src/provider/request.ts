/**
 * A request about one provider on its way to core, and the answer where core is not asked or not believed.
 *
 * @module
 */
import type { ResolvedConfig } from "../config/config.ts";
import type { CoreCall } from "../core.ts";
import type { ConfiguredProvider } from "./facts.ts";

/** A request about one provider. */
export interface ProviderRequest {
  readonly request: Request;
  readonly action: string;
  readonly provider: ConfiguredProvider;
  readonly resolved: ResolvedConfig;
  readonly call: CoreCall;
}

/** A redirect to one of core's pages, or to the application's own in its place, as when something fails. */
export function toErrorPage(
  step: Pick<ProviderRequest, "request" | "resolved" | "call">,
  kind: "error" | "signIn",
  error: string,
): Response {
  const { request, resolved, call } = step;
  const { origin } = new URL(request.url);
  const page = resolved.core.pages?.[kind] ?? `${call.basePath}/${kind.toLowerCase()}`;
  return toRedirect(request, `${origin}${page}?${new URLSearchParams({ error })}`);
}

/** A redirect as core makes it: in the body for a client that asked for it there. */
export function toRedirect(request: Request, url: string): Response {
  if (request.headers.has("x-auth-return-redirect")) return Response.json({ url });
  return new Response(null, { status: 302, headers: { location: url } });
}
