/** Checks a running deployment from outside: what browsers and providers get. */
import { checkCookies, checkCsrf } from "./url_cookies.ts";
import { error, type Finding, ok, warning } from "./findings.ts";
import { checkSignIns } from "./url_sign_in.ts";
import { type Deployment, explainOrigin, type ServedProvider } from "./deployment.ts";
import { reasonOf } from "./reason.ts";
import { explainNoList } from "./unreached.ts";
import { type Reply, Visitor } from "./visitor.ts";

/** How long a request may take, in milliseconds. */
const TIMEOUT = 10_000;

/** Where the auth routes are, where the address does not say it. */
const USUAL_PATH = "/auth";

/**
 * Checks a deployment. It asks for pages, and begins a sign-in with each provider of OAuth or OpenID Connect
 * without following it; it signs in no user.
 *
 * @param address Its origin, with the path of the auth routes where that is not `/auth`.
 * @param timeout How long a request may take, in milliseconds.
 */
export async function checkUrl(address: URL, timeout: number = TIMEOUT): Promise<Finding[]> {
  const path = address.pathname.replace(/\/+$/, "") || USUAL_PATH;
  const visitor = new Visitor(timeout, authorizationOf(address));
  const base = `${address.origin}${path}`;
  const listed = await tryVisit(visitor, `${base}/providers`);
  const providers = listed instanceof Error ? undefined : providersOf(listed);
  if (listed instanceof Error || providers === undefined) return [explainNoList(listed, base)];

  const deployment: Deployment = { origin: address.origin, base, providers, visitor };
  const checks = [
    checkTls,
    checkOrigin,
    checkForwarded,
    checkCsrf,
    checkCookies,
    checkSession,
    checkHeaders,
    checkSignIns,
  ];
  const findings: Finding[] = [ok("reach", `${base} has the auth routes.`)];
  for (const check of checks) findings.push(...await attempt(check, deployment));
  // Each sign-in may show the same mistake.
  return findings.filter(({ message }, index) =>
    findings.findIndex((one) => one.message === message) === index
  );
}

/** A check whose request fails is an error of the deployment, too. */
async function attempt(
  check: (deployment: Deployment) => Promise<Finding[]> | Finding[],
  deployment: Deployment,
): Promise<Finding[]> {
  try {
    return await check(deployment);
  } catch (cause) {
    return [error("reach", `A request failed: ${reasonOf(cause)}.`)];
  }
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(credentials)))}`;
}

async function tryVisit(visitor: Visitor, url: string): Promise<Reply | Error> {
  try {
    return await visitor.visit(url);
  } catch (cause) {
    return cause as Error;
  }
}

/** The list of providers that core serves. */
function providersOf({ status, json }: Reply): ServedProvider[] | undefined {
  if (status !== 200 || typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const providers = Object.values(json) as ServedProvider[];
  const isOne = (value: ServedProvider | null) =>
    [value?.id, value?.type, value?.callbackUrl].every((text) => typeof text === "string");
  return providers.every(isOne) ? providers : undefined;
}

async function checkTls({ origin, base, visitor }: Deployment): Promise<Finding[]> {
  const { protocol, hostname, port } = new URL(origin);
  if (protocol === "http:") {
    return [
      isLoopback(hostname) ? ok("tls", `${origin} is on this machine, where no TLS is needed.`) : error(
        "tls",
        `${origin} has no TLS, so that an attacker on the way can take sessions over: serve it by https.`,
      ),
    ];
  }
  const { headers } = await visitor.visit(`${base}/session`);
  const lasting = /max-age="?0*[1-9]/i.test(headers.get("strict-transport-security") ?? "")
    ? ok("tls", "Browsers are told to use https only (Strict-Transport-Security).")
    : warning(
      "tls",
      "There is no Strict-Transport-Security header: have the proxy or @fastify/helmet send it.",
    );
  // A server at another port has no http beside it.
  return port === "" ? [lasting, await checkPlain(hostname, base, visitor)] : [lasting];
}

async function checkPlain(hostname: string, base: string, visitor: Visitor): Promise<Finding> {
  const url = `http://${hostname}${new URL(base).pathname}/signin`;
  const reply = await tryVisit(visitor.withoutPassword(), url);
  if (reply instanceof Error) return ok("tls", "Nothing is served by http.");
  const location = reply.headers.get("location") ?? "";
  if (location.startsWith("https:")) return ok("tls", "http is redirected to https.");
  if (reply.status >= 400 && reply.status !== 401) {
    return ok("tls", "The auth routes are not served by http.");
  }
  return warning("tls", `${url} is served without TLS: redirect http to https.`);
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

function checkOrigin({ origin, base, providers }: Deployment): Finding[] {
  const wrong = providers.find(({ callbackUrl }) => !callbackUrl.startsWith(`${base}/callback/`));
  if (wrong !== undefined) return [error("origin", explainOrigin(wrong.callbackUrl, origin, base))];
  if (providers.length === 0) return [warning("provider", "There is no provider, so no user can sign in.")];
  const registered = providers.filter(({ type }) => type === "oauth" || type === "oidc");
  return [
    ok("origin", `Callback URLs are made for ${origin}.`),
    ...registered.map(({ id, callbackUrl }) =>
      ok("callback", `${id}: register ${callbackUrl} at the provider.`)
    ),
  ];
}

/** Headers that a proxy has to set or remove: a client may send them, too. */
async function checkForwarded({ origin, base, providers, visitor }: Deployment): Promise<Finding[]> {
  if (providers.length === 0) return []; // nothing shows the origin
  const proto = origin.startsWith("https:") ? "http" : "https";
  const headers = {
    "x-forwarded-host": FORGED,
    "x-forwarded-proto": proto,
    "forwarded": `host=${FORGED};proto=${proto}`,
  };
  const forged = providersOf(await visitor.visit(`${base}/providers`, { headers }));
  const urls = forged?.map(({ callbackUrl }) => callbackUrl) ?? [];
  // An origin that is wrong without them, too, is another finding.
  if (urls.every((url) => providers.some(({ callbackUrl }) => callbackUrl === url))) {
    return [ok("proxy", "X-Forwarded-Host and X-Forwarded-Proto of a client change nothing.")];
  }
  const what = urls.some((url) => url.includes(FORGED)) ? "X-Forwarded-Host" : "X-Forwarded-Proto";
  // On the developer's machine there is no proxy yet.
  const finding = isLoopback(new URL(origin).hostname) ? warning : error;
  return [
    finding(
      "proxy",
      `The ${what} header of any client decides the public origin, so that links and callback URLs can be made to ` +
        `lead elsewhere. Set AUTH_URL=${origin}, or have the proxy set that header itself; without a proxy leave ` +
        "`trustProxy` out.",
    ),
  ];
}

/** A host that cannot exist (RFC 6761). */
const FORGED = "doctor.invalid";

async function checkSession({ base, visitor }: Deployment): Promise<Finding[]> {
  const { status, json } = await visitor.another().visit(`${base}/session`);
  if (status === 200 && json === null) return [ok("session", "A visitor has no session.")];
  if (status === 200 && json !== undefined) {
    return [
      error("session", "A visitor without a cookie gets a session: a cache serves that of another user."),
    ];
  }
  return [
    error("session", `${base}/session answers ${status}: the reason is in the log of the application.`),
  ];
}

const HEADERS: readonly [name: string, expected: RegExp, why: string][] = [
  ["x-content-type-options", /nosniff/i, "browsers may take the reply for a script"],
  ["x-frame-options", /deny|sameorigin/i, "other sites may show the page in a frame"],
  ["referrer-policy", /^(?!.*unsafe-url)/i, "URLs with codes may reach other sites"],
];

/** Browsers use it in place of X-Frame-Options (CSP 3, section 6.4.2). */
function limitsFrames(headers: Headers): boolean {
  const sources = /frame-ancestors([^;,]*)/i.exec(headers.get("content-security-policy") ?? "")?.[1];
  return sources !== undefined && !/(?:^|\s)(?:\*|https?:)(?:\s|$)/.test(sources);
}

async function checkHeaders({ base, visitor }: Deployment): Promise<Finding[]> {
  const { status, headers } = await visitor.visit(`${base}/signin`, { headers: { accept: "text/html" } });
  if (status >= 400) {
    return [
      error("page", `The sign-in page answers ${status}: the reason is in the log of the application.`),
    ];
  }
  const missing = HEADERS.filter(([name, expected]) => !expected.test(headers.get(name) ?? ""))
    .filter(([name]) => name !== "x-frame-options" || !limitsFrames(headers));
  const findings = missing.map(([name, , why]) =>
    warning("headers", `${name} is missing or weak, so ${why}: the proxy should pass it on as it is.`)
  );
  if (/(?:^|,)\s*no-referrer\s*$/i.test(headers.get("referrer-policy") ?? "")) {
    findings.push(
      error(
        "headers",
        "Referrer-Policy: no-referrer has browsers send `Origin: null`, so that sign-ins are refused.",
      ),
    );
  }
  return findings.length > 0 ? findings : [ok("headers", "The sign-in page has its security headers.")];
}
