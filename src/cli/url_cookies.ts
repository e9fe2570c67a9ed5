/** Checks the cookies of a deployment, and that no cache is in the way. */
import type { Deployment } from "./deployment.ts";
import { error, type Finding, ok, warning } from "./findings.ts";
import type { SentCookie } from "./visitor.ts";

/** That cookies go back and forth, and that each visitor gets their own. */
export async function checkCsrf({ base, visitor }: Deployment): Promise<Finding[]> {
  const url = `${base}/csrf`;
  const [first, again, other] = [
    await visitor.visit(url),
    await visitor.visit(url),
    await visitor.another().visit(url),
  ];
  const [token, sameToken, otherToken] = [first, again, other].map(({ json }) =>
    (json as { csrfToken?: unknown } | undefined | null)?.csrfToken
  );
  if (typeof token !== "string") {
    return [error("csrf", `${url} answers ${first.status} without a token: the reason is in the log.`)];
  }
  const age = other.headers.get("age");
  if (token === otherToken || age !== null && age !== "0") {
    return [
      error("cache", "Two visitors get the same token: a proxy or CDN caches the auth routes. Exempt them."),
    ];
  }
  if (first.cookies.length === 0 && other.cookies.length === 0) {
    return [error("cookies", `${url} sets no cookie: a proxy or CDN removes Set-Cookie.`)];
  }
  const caching = [first, again, other].map(({ headers }) => headers.get("cache-control") ?? "none");
  const weak = caching.find((value) => !/no-store|private/i.test(value));
  return [
    token === sameToken ? ok("cookies", "Cookies come back to the application.") : error(
      "cookies",
      "A cookie does not come back to the application: a proxy or CDN removes the Cookie header.",
    ),
    weak === undefined ? ok("cache", "Replies are for one visitor alone.") : error(
      "cache",
      `Cache-Control arrives as "${weak}", so that caches may store replies: pass it on as it is.`,
    ),
  ];
}

/** That browsers keep the cookies to themselves. */
export async function checkCookies({ origin, base, visitor }: Deployment): Promise<Finding[]> {
  const { cookies } = await visitor.another().visit(`${base}/csrf`);
  const secure = origin.startsWith("https:");
  const findings = cookies.flatMap((cookie) => problemsOf(cookie, secure));
  if (findings.length > 0 || cookies.length === 0) return findings;
  return [
    ok(
      "cookies",
      `${cookies.map(({ name }) => name).join(", ")}: HttpOnly, SameSite${secure ? ", Secure" : ""}.`,
    ),
  ];
}

/** What is wrong with a cookie (RFC 6265bis, sections 4.1.2 and 4.1.3). */
export function problemsOf({ name, attributes }: SentCookie, secure: boolean): Finding[] {
  const findings: Finding[] = [];
  if (secure && !attributes.has("secure")) {
    findings.push(
      error(
        "cookies",
        `${name} has no Secure attribute: the application takes requests for http. Set AUTH_URL, or \`trustProxy\`.`,
      ),
    );
  }
  if (!secure && attributes.has("secure")) {
    findings.push(
      error(
        "cookies",
        `${name} has the Secure attribute, and browsers refuse it over http: open the https address.`,
      ),
    );
  }
  if (name.startsWith("__Host-") && (attributes.get("path") !== "/" || attributes.has("domain"))) {
    findings.push(
      error(
        "cookies",
        `Browsers refuse ${name}, which needs Path=/ and no Domain: a proxy changes its attributes.`,
      ),
    );
  }
  if (!attributes.has("httponly")) {
    findings.push(warning("cookies", `${name} has no HttpOnly: scripts can read it.`));
  }
  if (!attributes.has("samesite")) findings.push(warning("cookies", `${name} has no SameSite attribute.`));
  return findings;
}
