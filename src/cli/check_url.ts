/** Checks a running deployment from outside: what browsers and providers get. */
import { errorChain } from "../utils/error_chain.ts";
import { checkCookies, checkCsrf } from "./url_cookies.ts";
import { error, type Finding, ok, warning } from "./findings.ts";
import { checkSignIns } from "./url_sign_in.ts";
import { type Deployment, explainOrigin, type ServedProvider } from "./deployment.ts";
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
  return findings;
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

function reasonOf(cause: unknown): string {
  return [...errorChain(cause)].map(({ message }: { message?: unknown }) => message).filter(Boolean).join(
    ": ",
  );
}

/** The list of providers that core serves. */
function providersOf({ status, json }: Reply): ServedProvider[] | undefined {
  if (status !== 200 || typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const providers = Object.values(json) as ServedProvider[];
  const isOne = (value: ServedProvider | null) =>
    [value?.id, value?.type, value?.callbackUrl].every((text) => typeof text === "string");
  return providers.every(isOne) ? providers : undefined;
}

function explainNoList(listed: Reply | Error, base: string): Finding {
  const url = `${base}/providers`;
  if (listed instanceof Error) return error("reach", `${url} cannot be reached: ${reasonOf(listed)}.`);
  const { status, headers } = listed;
  if (status >= 300 && status < 400) {
    return error(
      "reach",
      `${url} redirects to ${withoutQuery(headers.get("location"), url)}: give that address.`,
    );
  }
  if (status === 401) {
    return error("reach", `${url} asks for a password: give it as --url https://user:password@host.`);
  }
  if (status >= 500) {
    return error(
      "reach",
      `${url} answers ${status}: the application does not run, or its proxy cannot reach it.`,
    );
  }
  return error(
    "reach",
    `${url} answers ${status} without the list of providers. If the auth routes are at another path, give it, as in ` +
      "--url https://app.example/api/auth; if they are there, a proxy does not pass that path on.",
  );
}

/** A query may have a token. */
function withoutQuery(location: string | null, base: string): string {
  if (location === null || !URL.canParse(location, base)) return "nowhere";
  const { origin, pathname } = new URL(location, base);
  return `${origin}${pathname}`;
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
  const lasting = headers.has("strict-transport-security")
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
  const reply = await tryVisit(visitor.another(), url);
  if (reply instanceof Error) return ok("tls", "Nothing is served by http.");
  const location = reply.headers.get("location") ?? "";
  if (location.startsWith("https:")) return ok("tls", "http is redirected to https.");
  if (reply.status >= 400) return ok("tls", "The auth routes are not served by http.");
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
async function checkForwarded({ origin, base, visitor }: Deployment): Promise<Finding[]> {
  const proto = origin.startsWith("https:") ? "http" : "https";
  const headers = {
    "x-forwarded-host": FORGED,
    "x-forwarded-proto": proto,
    "forwarded": `host=${FORGED};proto=${proto}`,
  };
  const forged = providersOf(await visitor.visit(`${base}/providers`, { headers }));
  const urls = forged?.map(({ callbackUrl }) => callbackUrl) ?? [];
  if (urls.every((url) => url.startsWith(`${origin}/`))) {
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

async function checkHeaders({ base, visitor }: Deployment): Promise<Finding[]> {
  const { status, headers } = await visitor.visit(`${base}/signin`, { headers: { accept: "text/html" } });
  if (status >= 400) {
    return [
      error("page", `The sign-in page answers ${status}: the reason is in the log of the application.`),
    ];
  }
  const missing = HEADERS.filter(([name, expected]) => !expected.test(headers.get(name) ?? ""));
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
