/**
 * What a person is told when no sign-in link was mailed, or when it came back incomplete.
 *
 * @module
 */
import { EmailSignInError } from "@auth/core/errors";

/**
 * Core's answer, in the words of its own sign-in page: "Configuration", which it says of every error it does not know,
 * ends on a page of status 500 for an address that somebody mistyped.
 *
 * @param response Core's answer.
 * @param reason Why core gave up, if it did.
 */
export async function restate(response: Response, reason: Error | undefined): Promise<Response> {
  if (!(reason instanceof EmailSignInError)) return response;
  const { headers } = response;
  const location = headers.get("location");
  // For a client that asked for it, the address is in the body.
  if (location === null) {
    const { url } = await response.json() as { url: string };
    return Response.json({ url: withError(url) }, { headers });
  }
  const restated = new Headers(headers);
  restated.set("location", withError(location));
  return new Response(null, { status: response.status, headers: restated });
}

function withError(address: string): string {
  const url = new URL(address);
  url.searchParams.set("error", "EmailSignin");
  return url.href;
}

/**
 * The query of a sign-in link with a token in it, if need be one that nobody was mailed: a link that was cut is as
 * invalid as one that expired, where core takes it for a mistake in the configuration.
 */
export function withToken(query: string): string {
  const parameters = new URLSearchParams(query);
  if (parameters.get("token")) return query;
  parameters.set("token", "none");
  return parameters.toString();
}
