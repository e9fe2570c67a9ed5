/** Checks a running deployment from outside: what browsers and providers get. */
import { Buffer } from "node:buffer";
import type { SetCookie } from "cookie";
import { variableOf } from "../provider/settings.ts";
import { about, type Finding, isLoopback, NO_PROVIDER, reasonOf } from "./findings.ts";
import { explainNoList } from "./unreached.ts";
import { newVisitor, type Reply, type Visit } from "./visitor.ts";

/** A provider in the list that the deployment serves. */
interface ServedProvider {
  readonly id: string;
  readonly type: string;
  readonly callbackUrl: string;
}

interface Deployment {
  /** As users see it. */
  readonly origin: string;
  readonly isTls: boolean;
  readonly base: string;
  readonly providers: readonly ServedProvider[];
  readonly visit: Visit;
  /** A visitor without cookies. */
  readonly another: () => Visit;
  /** One without the password of HTTP, for addresses without TLS. */
  readonly withoutPassword: Visit;
  readonly offline: boolean;
  readonly timeout: number;
}

type Findings = AsyncGenerator<Finding, void>;

const cache = about("cache");
const cookies = about("cookies");
const callback = about("callback");
const headers = about("headers");
const reach = about("reach");
const session = about("session");
const signIn = about("sign-in");
const tls = about("tls");

const IN_LOG = "the reason is in the log of the application";

/**
 * Checks a deployment. It asks for pages, and begins a sign-in with each provider of OAuth or OpenID Connect
 * and looks whether that refuses the callback URL; it signs in no user.
 *
 * @param address Its origin, with the path of the auth routes if that is not `/auth`.
 * @param offline Whether providers are left alone.
 * @param timeout How long a request may take, in milliseconds.
 */
export async function checkUrl(address: URL, offline = false, timeout = 10_000): Promise<Finding[]> {
  const { origin, username, password } = address;
  const base = `${origin}${address.pathname.replace(/\/+$/, "") || "/auth"}`;
  const user = username || password ? `${decodeURIComponent(username)}:${decodeURIComponent(password)}` : "";
  const authorization = user && `Basic ${Buffer.from(user).toString("base64")}`;
  const another = () => newVisitor(timeout, authorization);
  const visit = another();
  const listed = await visit(`${base}/providers`).catch((cause: Error) => cause);
  if (listed instanceof Error) {
    return [reach.error(`${base}/providers cannot be reached: ${reasonOf(listed)}.`)];
  }
  const providers = providersOf(listed);
  if (providers === undefined) {
    return [reach.error(`${base}/providers ${explainNoList(listed, base, user !== "")}`)];
  }
  const isTls = origin.startsWith("https:");
  const withoutPassword = newVisitor(timeout);
  const deployment = { origin, isTls, base, providers, visit, another, withoutPassword, offline, timeout };
  const findings: Finding[] = [reach.ok(`${base} has the auth routes.`)];
  for (const check of CHECKS) {
    try {
      for await (const finding of check(deployment)) findings.push(finding);
    } catch (cause) {
      findings.push(reach.error(`A request failed: ${reasonOf(cause)}.`));
    }
  }
  // Each sign-in may show the same mistake.
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()];
}

const CHECKS: readonly ((deployment: Deployment) => Findings)[] = [
  checkTls,
  checkOrigin,
  checkForwarded,
  checkCookies,
  checkSession,
  checkHeaders,
  checkSignIns,
];

function providersOf({ status, json }: Reply): ServedProvider[] | undefined {
  if (status !== 200 || typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const providers = Object.values(json) as ServedProvider[];
  const isOne = (value: ServedProvider | null) =>
    [value?.id, value?.type, value?.callbackUrl].every((text) => typeof text === "string");
  return providers.every(isOne) ? providers : undefined;
}

const isOAuth = ({ type }: ServedProvider) => type === "oauth" || type === "oidc";

async function* checkTls({ origin, isTls, base, visit, withoutPassword }: Deployment): Findings {
  const { hostname, port } = new URL(origin);
  if (!isTls) {
    if (isLoopback(hostname)) yield tls.ok(`${origin} is on this machine, where no TLS is needed.`);
    else yield tls.error(`${origin} has no TLS, so attackers on the way can take sessions over: use https.`);
    return;
  }
  const { headers } = await visit(`${base}/session`);
  yield /max-age="?0*[1-9]/i.test(headers.get("strict-transport-security") ?? "")
    ? tls.ok("Browsers are told to use https only (Strict-Transport-Security).")
    : tls.warning("There is no Strict-Transport-Security header: have the proxy or @fastify/helmet send it.");
  if (port !== "") return; // a server at another port has no http beside it
  const url = `http://${hostname}${new URL(base).pathname}/signin`;
  const plain = await withoutPassword(url).catch(() => undefined);
  const isRedirected = plain?.headers.get("location")?.startsWith("https:");
  if (plain === undefined) yield tls.ok("Nothing is served by http.");
  else if (isRedirected) yield tls.ok("http is redirected to https.");
  else if (plain.status >= 400 && plain.status !== 401) {
    yield tls.ok("The auth routes are not served by http.");
  } else yield tls.warning(`${url} is served without TLS: redirect http to https.`);
}

async function* checkOrigin({ origin, base, providers }: Deployment): Findings {
  const wrong = providers.find(({ callbackUrl }) => !callbackUrl.startsWith(`${base}/callback/`));
  if (wrong !== undefined) yield about("origin").error(explainOrigin(wrong.callbackUrl, origin, base));
  else if (providers.length === 0) yield about("provider").warning(NO_PROVIDER);
  else {
    yield about("origin").ok(`Callback URLs are made for ${origin}.`);
    for (const { id, callbackUrl } of providers.filter(isOAuth)) {
      yield callback.ok(`${id}: register ${callbackUrl} at the provider.`);
    }
  }
}

/** What `AUTH_URL` is: with the path that users see, unless that is the default. */
function publicAddress(origin: string, base: string): string {
  return base === `${origin}/auth` ? origin : base;
}

/** Why URLs of the deployment lead elsewhere, and what to change. */
function explainOrigin(made: string, origin: string, base: string): string {
  const theirs = URL.canParse(made) ? new URL(made) : undefined;
  const what = `The application makes callback URLs such as ${made}, and users see it at ${base}: `;
  if (theirs?.origin === origin) {
    return `${what}have the proxy pass the path on as it is, or set AUTH_URL=${base}.`;
  }
  const lost = origin === `https://${theirs?.host}`
    ? "the proxy has TLS, and the application does not know it. "
    : "the application does not know the address that users type. ";
  return `${what}${lost}Set AUTH_URL=${publicAddress(origin, base)}, or \`trustProxy\` of Fastify to the address ` +
    "of your proxy, and have the proxy send X-Forwarded-Proto and X-Forwarded-Host.";
}

const FORGED = "doctor.invalid"; // a host that cannot exist (RFC 6761)

/** Headers that a proxy has to set or remove: a client may send them, too. */
async function* checkForwarded({ origin, isTls, base, providers, visit }: Deployment): Findings {
  if (providers.length === 0) return; // nothing shows the origin
  const proto = isTls ? "http" : "https";
  const headers = {
    "x-forwarded-host": FORGED,
    "x-forwarded-proto": proto,
    "forwarded": `host=${FORGED};proto=${proto}`,
  };
  const forged = providersOf(await visit(`${base}/providers`, { headers })) ?? [];
  const known = providers.map(({ callbackUrl }) => callbackUrl);
  // An origin that is wrong without them, too, is another finding.
  const changed = forged.filter(({ callbackUrl }) => !known.includes(callbackUrl));
  if (changed.length === 0) {
    yield about("proxy").ok("X-Forwarded-Host and X-Forwarded-Proto of a client change nothing.");
    return;
  }
  const isHost = changed.some(({ callbackUrl }) => callbackUrl.includes(FORGED));
  const header = isHost ? "X-Forwarded-Host" : "X-Forwarded-Proto";
  // On the developer's machine there is no proxy yet.
  yield about("proxy")[isLoopback(new URL(origin).hostname) ? "warning" : "error"](
    `The ${header} header of any client decides the public origin, so that links and callback URLs can be made ` +
      `to lead elsewhere. Set AUTH_URL=${
        publicAddress(origin, base)
      }, or have the proxy set that header itself; without a proxy ` +
      "leave `trustProxy` out.",
  );
}

const tokenIn = ({ json }: Reply) => (Object(json) as { csrfToken?: unknown }).csrfToken;

/** That cookies go back and forth, are kept from scripts and other sites, and are not shared by visitors. */
async function* checkCookies({ isTls, base, visit, another }: Deployment): Findings {
  const url = `${base}/csrf`;
  const replies = [await visit(url), await visit(url), await another()(url)] as const;
  const [first, again, other] = replies;
  const token = tokenIn(first);
  if (typeof token !== "string") {
    yield about("csrf").error(`${url} answers ${first.status} without a token: the reason is in the log.`);
  } else if (token === tokenIn(other) || (other.headers.get("age") ?? "0") !== "0") {
    yield cache.error("Two visitors get the same token: a proxy or CDN caches the auth routes. Exempt them.");
  } else if (first.cookies.length === 0 && other.cookies.length === 0) {
    yield cookies.error(`${url} sets no cookie: a proxy or CDN removes Set-Cookie.`);
  } else {
    yield token === tokenIn(again) ? cookies.ok("Cookies come back to the application.") : cookies.error(
      "A cookie does not come back to the application: a proxy or CDN removes the Cookie header.",
    );
    const caching = replies.map(({ headers }) => headers.get("cache-control") ?? "none");
    const weak = caching.find((value) => !/no-store|private/i.test(value));
    yield weak === undefined
      ? cache.ok("Replies are for one visitor alone.")
      : cache.error(`Cache-Control arrives as "${weak}", so caches may store replies: pass it on as it is.`);
  }
  const names = other.cookies.map(({ name }) => name).join(", ");
  const problems = other.cookies.flatMap((cookie) => [...cookieProblems(cookie, isTls)]);
  yield* problems;
  if (names === "" || problems.length > 0) return;
  yield cookies.ok(`${names}: HttpOnly, SameSite${isTls ? ", Secure" : ""}.`);
}

/** What is wrong with a cookie (RFC 6265bis, sections 4.1.2 and 4.1.3). */
function* cookieProblems(cookie: SetCookie, isTls: boolean): Generator<Finding> {
  const { name, secure = false, path, domain, httpOnly, sameSite } = cookie;
  if (isTls && !secure) {
    yield cookies.error(
      `${name} has no Secure attribute: the application takes requests for http. Set AUTH_URL, or \`trustProxy\`.`,
    );
  }
  if (!isTls && secure) {
    yield cookies.error(`${name} is Secure, and browsers refuse it over http: open the https address.`);
  }
  if (name.startsWith("__Host-") && (path !== "/" || domain !== undefined)) {
    yield cookies.error(
      `Browsers refuse ${name}, which needs Path=/ and no Domain: a proxy changes its attributes.`,
    );
  }
  if (!httpOnly) yield cookies.warning(`${name} has no HttpOnly: scripts can read it.`);
  if (sameSite === undefined) yield cookies.warning(`${name} has no SameSite attribute.`);
}

async function* checkSession({ base, another }: Deployment): Findings {
  const { status, json } = await another()(`${base}/session`);
  const isWrong = status !== 200 || json === undefined;
  if (isWrong) yield session.error(`${base}/session answers ${status}: ${IN_LOG}.`);
  else if (json === null) yield session.ok("A visitor has no session.");
  else yield session.error("A visitor without a cookie gets a session: a cache serves that of another user.");
}

const HEADERS: readonly [name: string, expected: RegExp, why: string][] = [
  ["x-content-type-options", /nosniff/i, "browsers may take the reply for a script"],
  ["x-frame-options", /deny|sameorigin/i, "other sites may show the page in a frame"],
  ["referrer-policy", /^(?!.*unsafe-url)/i, "URLs with codes may reach other sites"],
];

async function* checkHeaders({ base, visit }: Deployment): Findings {
  const { status, headers: sent } = await visit(`${base}/signin`, { headers: { accept: "text/html" } });
  if (status >= 400) return yield about("page").error(`The sign-in page answers ${status}: ${IN_LOG}.`);
  // Browsers use it in place of X-Frame-Options (CSP 3, section 6.4.2).
  const sources = /frame-ancestors([^;,]*)/i.exec(sent.get("content-security-policy") ?? "")?.[1] ?? "*";
  const limitsFrames = !/(?:^|\s)(?:\*|https?:)(?:\s|$)/.test(sources);
  const problems = HEADERS.filter(([name, expected]) => !expected.test(sent.get(name) ?? ""))
    .filter(([name]) => name !== "x-frame-options" || !limitsFrames)
    .map(([name, , why]) =>
      headers.warning(`${name} is missing or weak, so ${why}: the proxy should pass it on as it is.`)
    );
  yield* problems;
  if (/(?:^|,)\s*no-referrer\s*$/i.test(sent.get("referrer-policy") ?? "")) {
    yield headers.error(
      "Referrer-Policy: no-referrer has browsers send `Origin: null`, so sign-ins are refused.",
    );
  } else if (problems.length === 0) yield headers.ok("The sign-in page has its security headers.");
}

/** Begins a sign-in with each provider of OAuth or OpenID Connect, and looks at where users are sent. */
async function* checkSignIns(deployment: Deployment): Findings {
  const { origin, isTls, base, providers, visit, offline, timeout } = deployment;
  for (const { id, callbackUrl } of providers.filter(isOAuth)) {
    const csrfToken = tokenIn(await visit(`${base}/csrf`));
    if (typeof csrfToken !== "string") {
      return yield signIn.warning("No sign-in was tried, since there is no CSRF token.");
    }
    const { status, json, cookies } = await visit(`${base}/signin/${id}`, {
      headers: { origin, "x-auth-return-redirect": "prefer-status" },
      form: { csrfToken, callbackUrl: `${origin}/` },
    });
    const { url, code, error } = Object(json) as { url?: unknown; code?: unknown; error?: unknown };
    if (status !== 200 || typeof url !== "string" || !URL.canParse(url)) {
      yield signIn.error(`${id}: ${explainRefusal(status, code ?? error, publicAddress(origin, base))}`);
      continue;
    }
    const problems = [
      ...targetProblems(id, callbackUrl, new URL(url), origin),
      ...cookies.flatMap((cookie) => [...cookieProblems(cookie, isTls)]),
    ];
    yield* problems;
    if (problems.length === 0 && !offline && await isUnregistered(new URL(url), timeout)) {
      yield callback.error(
        `${id}: the provider does not know the callback URL. Register ${callbackUrl} there.`,
      );
    } else if (problems.length === 0) yield signIn.ok(`${id}: users are sent to ${new URL(url).origin}.`);
  }
}

/** Whether a provider refuses the callback URL. Many say so only once a user has signed in there. */
async function isUnregistered(target: URL, timeout: number): Promise<boolean> {
  try {
    const headers = { accept: "text/html" };
    const response = await fetch(target, { headers, signal: AbortSignal.timeout(timeout) });
    const text = await response.text();
    return /redirect_uri_mismatch|AADSTS50011/.test(text) ||
      response.status >= 400 && /redirect[_ ]ur[il]/i.test(text);
  } catch {
    return false; // a browser may reach it where this machine does not
  }
}

/** The request to the provider (RFC 6749, section 4.1.1). A pushed one has only a client id (RFC 9126). */
function* targetProblems(id: string, callbackUrl: string, target: URL, origin: string): Generator<Finding> {
  if (target.origin === origin && target.searchParams.has("error")) {
    return yield signIn.error(`${id}: users are sent to the error page: ${IN_LOG}.`);
  }
  const client = target.searchParams.get("client_id");
  if (client !== null && /^(?:undefined|null)?$/.test(client)) {
    yield signIn.error(`${id}: the client id is "${client}": set ${variableOf(id, "ID")} (or \`clientId\`).`);
  }
  const redirect = target.searchParams.get("redirect_uri") ?? callbackUrl;
  // A deployment of its own may receive callbacks for this one.
  if (redirect !== callbackUrl) {
    yield callback.ok(`${id}: callbacks go to ${redirect}, by \`redirectProxyUrl\`: register that one.`);
  }
}

function explainRefusal(status: number, code: unknown, address: string): string {
  const what = `a sign-in is answered with ${status}${typeof code === "string" ? ` (${code})` : ""}`;
  const why: Readonly<Record<string, string>> = {
    FST_AUTHJS_CROSS_SITE: `its own page is taken for that of another site. Set AUTH_URL=${address}.`,
    FST_AUTHJS_UNAVAILABLE: "the application cannot reach the provider. Its log says which address.",
    FST_AUTHJS_TOO_MANY_REQUESTS: "the attempts of this machine are limited. Try again later.",
  };
  return `${what}: ${why[String(code)] ?? `${IN_LOG}.`}`;
}
