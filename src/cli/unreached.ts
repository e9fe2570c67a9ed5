/** Why a deployment does not serve the list of providers, and what to change. */
import type { Reply } from "./visitor.ts";

/** Explains what came instead of the list; `hasPassword` if the request had a password of HTTP. */
export function explainNoList({ status, headers, json }: Reply, base: string, hasPassword: boolean): string {
  const { code, message } = Object(json) as { code?: unknown; message?: unknown };
  const answers = `answers ${status}`;
  if (status >= 300 && status < 400) return explainRedirect(headers.get("location"), base);
  if (status === 401 && /^basic\b/i.test(headers.get("www-authenticate") ?? "")) {
    return hasPassword
      ? "refuses the user name or the password in --url."
      : "asks for a password: give it as --url https://user:password@host.";
  }
  if (status === 401) {
    return `${answers}: have the proxy, or the hook of the application, that asks for a session ${SPARE}`;
  }
  if (status !== 404 && String(code).startsWith("FST_AUTHJS_")) return `${answers} (${code}): ${message}`;
  if (status === 403) return `${answers}: a proxy or firewall refuses requests of this machine.`;
  if (status === 429) return `${answers}: the requests of this machine are limited. Try again later.`;
  if (status >= 502 && status <= 504 && json === undefined) {
    return `${answers}: the application does not run, or its proxy cannot reach it.`;
  }
  if (status >= 500) return `${answers}: the reason is in the log of the application, or of its proxy.`;
  return `${answers} without the list of providers. If the auth routes are at another path, give it, as in ` +
    "--url https://app.example/api/auth; if they are there, a proxy does not pass that path on.";
}

const SPARE = "leave the auth routes out. Users need them before they are signed in.";

function explainRedirect(location: string | null, base: string): string {
  const url = `${base}/providers`;
  if (location === null || !URL.canParse(location, url)) return "redirects to no address.";
  const { origin, pathname } = new URL(location, url);
  const target = `${origin}${pathname}`; // a query may have a token
  if (target === `${url}/`) {
    return "redirects to the same path with a slash at its end: have the proxy pass paths on as they are.";
  }
  const found = /^(.*)\/providers\/?$/.exec(target)?.[1];
  if (found !== undefined && found !== base) return `redirects to ${target}: check --url ${found}.`;
  return `redirects to ${target}, which is none of the auth routes: have the proxy, or the hook of the ` +
    `application, that redirects ${SPARE}`;
}
