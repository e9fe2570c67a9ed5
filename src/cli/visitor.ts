/** A visitor of a deployment: sends requests as a browser would, and keeps cookies. */
import { parseSetCookie, type SetCookie } from "cookie";

export type Reply = Readonly<{ status: number; headers: Headers; cookies: readonly SetCookie[]; json: unknown }>;
type Fields = Readonly<Record<string, string>>;

/** Requests a page, or posts a form. Redirects are not followed. */
export type Visit = (url: string, options?: { headers?: Fields; form?: Fields }) => Promise<Reply>;

/** A visitor without cookies. A request may take `timeout` milliseconds. */
export function newVisitor(timeout: number, authorization = ""): Visit {
  const jar = new Map<string, string>();
  return async (url, { headers = {}, form } = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      ...form && { method: "POST", body: new URLSearchParams(form) },
      redirect: "manual",
      signal: AbortSignal.timeout(timeout),
      headers: {
        accept: "application/json",
        ...authorization !== "" && { authorization },
        ...cookie !== "" && { cookie },
        ...headers,
      },
    });
    const lines = response.headers.getSetCookie();
    const cookies = lines.map((line) => parseSetCookie(line, { decode: (value) => value }));
    for (const { name, value = "" } of cookies) jar.set(name, value);
    // A body that breaks off is an error; one that is not JSON is none.
    const body = new Response(await response.text());
    const json = await body.json().catch(() => undefined);
    return { status: response.status, headers: response.headers, cookies, json };
  };
}
