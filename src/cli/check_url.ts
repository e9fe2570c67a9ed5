/** Checks a running deployment from outside: what browsers and providers get. */
import { Buffer } from "node:buffer";
import type { SetCookie } from "cookie";
import { variableOf } from "../provider/settings.ts";
import { error, type Finding, isLoopback, NO_PROVIDER, ok, reasonOf, warning } from "./findings.ts";
import { explainNoList } from "./unreached.ts";
import { newVisitor, type Reply } from "./visitor.ts";

type ServedProvider = Readonly<{ id: string; type: string; callbackUrl: string }>;
type Deployment = Awaited<ReturnType<typeof deploymentAt>>;
type Findings = AsyncGenerator<Finding, void>;

const IN_LOG = "the reason is in the log of the application";

/**
 * Checks a deployment by its origin, with the path of the auth routes if that is not `/auth`. It asks for pages, and
 * begins a sign-in with each provider of OAuth or OpenID Connect, but signs in no user. A request may take the timeout,
 * in milliseconds.
 */
export async function checkUrl(address: URL, offline = false, timeout = 10_000): Promise<Finding[]> {
  const deployment = await deploymentAt(address, offline, timeout);
  const { base, failure } = deployment;
  if (failure !== undefined) return [error("reach", `${base}/providers ${failure}`)];
  const findings: Finding[] = [ok("reach", `${base} has the auth routes.`)];
  for (const check of [checkTls, checkOrigin, checkForwarded, checkCookies, checkSession, checkHeaders, checkSignIns]) {
    try {
      for await (const finding of check(deployment)) findings.push(finding);
    } catch (cause) {
      findings.push(error("reach", `A request failed: ${reasonOf(cause)}.`));
    }
  }
  // Each sign-in may show the same mistake.
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()];
}

async function deploymentAt({ origin, username, password, pathname }: URL, offline: boolean, timeout: number) {
  const base = `${origin}${pathname.replace(/\/+$/, "") || "/auth"}`;
  const user = username || password ? `${decodeURIComponent(username)}:${decodeURIComponent(password)}` : "";
  const authorization = user && `Basic ${Buffer.from(user).toString("base64")}`;
  const another = () => newVisitor(timeout, authorization);
  const visit = another();
  let providers: ServedProvider[] | undefined;
  let failure: string | undefined;
  try {
    const listed = await visit(`${base}/providers`);
    providers = providersOf(listed);
    if (providers === undefined) failure = explainNoList(listed, base, user !== "");
  } catch (cause) {
    failure = `cannot be reached: ${reasonOf(cause)}.`;
  }
  const isTls = origin.startsWith("https:");
  return { origin, isTls, base, providers: providers ?? [], failure, visit, another, offline, timeout };
}

function providersOf({ status, json }: Reply): ServedProvider[] | undefined {
  if (status !== 200 || typeof json !== "object" || json === null || Array.isArray(json)) return undefined;
  const providers = Object.values(json) as ServedProvider[];
  const isOne = (value: ServedProvider | null) =>
    [value?.id, value?.type, value?.callbackUrl].every((text) => typeof text === "string");
  return providers.every(isOne) ? providers : undefined;
}

const isOAuth = ({ type }: ServedProvider) => type === "oauth" || type === "oidc";

async function* checkTls({ origin, isTls, base, visit, timeout }: Deployment): Findings {
  const { hostname, port } = new URL(origin);
  if (!isTls) {
    if (isLoopback(hostname)) yield ok("tls", `${origin} is on this machine, where no TLS is needed.`);
    else yield error("tls", `${origin} has no TLS, so attackers on the way can take sessions over: use https.`);
    return;
  }
  const { headers } = await visit(`${base}/session`);
  yield /max-age="?0*[1-9]/i.test(headers.get("strict-transport-security") ?? "")
    ? ok("tls", "Browsers are told to use https only (Strict-Transport-Security).")
    : warning("tls", "There is no Strict-Transport-Security header: have the proxy or @fastify/helmet send it.");
  if (port !== "") return; // a server at another port has no http beside it
  const url = `http://${hostname}${new URL(base).pathname}/signin`;
  const plain = await newVisitor(timeout)(url).catch(() => undefined); // without the password of HTTP
  const isRedirected = plain?.headers.get("location")?.startsWith("https:");
  if (plain === undefined) yield ok("tls", "Nothing is served by http.");
  else if (isRedirected) yield ok("tls", "http is redirected to https.");
  else if (plain.status >= 400 && plain.status !== 401) {
    yield ok("tls", "The auth routes are not served by http.");
  } else yield warning("tls", `${url} is served without TLS: redirect http to https.`);
}

async function* checkOrigin({ origin, base, providers }: Deployment): Findings {
  const wrong = providers.find(({ callbackUrl }) => !callbackUrl.startsWith(`${base}/callback/`));
  if (wrong !== undefined) yield error("origin", explainOrigin(wrong.callbackUrl, origin, base));
  else if (providers.length === 0) yield warning("provider", NO_PROVIDER);
  else {
    yield ok("origin", `Callback URLs are made for ${origin}.`);
    for (const { id, callbackUrl } of providers.filter(isOAuth)) {
      yield ok("callback", `${id}: register ${callbackUrl} at the provider.`);
    }
  }
}

/** What `AUTH_URL` is: with the path that users see, unless that is the default. */
function publicAddress(origin: string, base: string): string {
  return base === `${origin}/auth` ? origin : base;
}

function explainOrigin(made: string, origin: string, base: string): string {
  const theirs = URL.canParse(made) ? new URL(made) : undefined;
  const what = `The application makes callback URLs such as ${made}, and users see it at ${base}: `;
  if (theirs?.origin === origin) return `${what}have the proxy pass the path on as it is, or set AUTH_URL=${base}.`;
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
    yield ok("proxy", "X-Forwarded-Host and X-Forwarded-Proto of a client change nothing.");
    return;
  }
  const isHost = changed.some(({ callbackUrl }) => callbackUrl.includes(FORGED));
  const header = isHost ? "X-Forwarded-Host" : "X-Forwarded-Proto";
  // On the developer's machine there is no proxy yet.
  const bad = isLoopback(new URL(origin).hostname) ? warning : error;
  yield bad(
    "proxy",
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
    yield error("csrf", `${url} answers ${first.status} without a token: the reason is in the log.`);
  } else if (token === tokenIn(other) || (other.headers.get("age") ?? "0") !== "0") {
    yield error("cache", "Two visitors get the same token: a proxy or CDN caches the auth routes. Exempt them.");
  } else if (first.cookies.length === 0 && other.cookies.length === 0) {
    yield error("cookies", `${url} sets no cookie: a proxy or CDN removes Set-Cookie.`);
  } else {
    yield token === tokenIn(again)
      ? ok("cookies", "Cookies come back to the application.")
      : error("cookies", "A cookie does not come back to the application: a proxy or CDN removes the Cookie header.");
    const caching = replies.map(({ headers }) => headers.get("cache-control") ?? "none");
    const weak = caching.find((value) => !/no-store|private/i.test(value));
    yield weak === undefined
      ? ok("cache", "Replies are for one visitor alone.")
      : error("cache", `Cache-Control arrives as "${weak}", so caches may store replies: pass it on as it is.`);
  }
  const names = other.cookies.map(({ name }) => name).join(", ");
  const problems = other.cookies.flatMap((cookie) => cookieProblems(cookie, isTls));
  yield* problems;
  if (names === "" || problems.length > 0) return;
  yield ok("cookies", `${names}: HttpOnly, SameSite${isTls ? ", Secure" : ""}.`);
}

/** What is wrong with a cookie (RFC 6265bis, sections 4.1.2 and 4.1.3). */
function cookieProblems(cookie: SetCookie, isTls: boolean): Finding[] {
  const { name, secure = false, path, domain, httpOnly, sameSite } = cookie;
  const isBound = !name.startsWith("__Host-") || (path === "/" && domain === undefined);
  const rules: readonly (readonly [isKept: boolean, found: typeof error, message: string])[] = [
    [secure || !isTls, error, `has no Secure attribute: the application takes requests for http. ${SET_ADDRESS}`],
    [isTls || !secure, error, "is Secure, and browsers refuse it over http: open the https address."],
    [isBound, error, "needs Path=/ and no Domain, or browsers refuse it: a proxy changes its attributes."],
    [Boolean(httpOnly), warning, "has no HttpOnly: scripts can read it."],
    [sameSite !== undefined, warning, "has no SameSite attribute."],
  ];
  return rules.filter(([isKept]) => !isKept).map(([, found, message]) => found("cookies", `${name} ${message}`));
}

const SET_ADDRESS = "Set AUTH_URL, or `trustProxy`.";

async function* checkSession({ base, another }: Deployment): Findings {
  const { status, json } = await another()(`${base}/session`);
  const isWrong = status !== 200 || json === undefined;
  if (isWrong) yield error("session", `${base}/session answers ${status}: ${IN_LOG}.`);
  else if (json === null) yield ok("session", "A visitor has no session.");
  else yield error("session", "A visitor without a cookie gets a session: a cache serves that of another user.");
}

const HEADERS: readonly [name: string, expected: RegExp, why: string][] = [
  ["x-content-type-options", /nosniff/i, "browsers may take the reply for a script"],
  ["x-frame-options", /deny|sameorigin/i, "other sites may show the page in a frame"],
  ["referrer-policy", /^(?!.*unsafe-url)/i, "URLs with codes may reach other sites"],
];

async function* checkHeaders({ base, visit }: Deployment): Findings {
  const { status, headers: sent } = await visit(`${base}/signin`, { headers: { accept: "text/html" } });
  if (status >= 400) return yield error("page", `The sign-in page answers ${status}: ${IN_LOG}.`);
  // Browsers use it in place of X-Frame-Options (CSP 3, section 6.4.2).
  const sources = /frame-ancestors([^;,]*)/i.exec(sent.get("content-security-policy") ?? "")?.[1] ?? "*";
  const limitsFrames = !/(?:^|\s)(?:\*|https?:)(?:\s|$)/.test(sources);
  const problems = HEADERS.filter(([name, expected]) => !expected.test(sent.get(name) ?? ""))
    .filter(([name]) => name !== "x-frame-options" || !limitsFrames)
    .map(([name, , why]) =>
      warning("headers", `${name} is missing or weak, so ${why}: the proxy should pass it on as it is.`)
    );
  yield* problems;
  if (/(?:^|,)\s*no-referrer\s*$/i.test(sent.get("referrer-policy") ?? "")) {
    yield error("headers", "Referrer-Policy: no-referrer has browsers send `Origin: null`, so sign-ins are refused.");
  } else if (problems.length === 0) yield ok("headers", "The sign-in page has its security headers.");
}

/** Begins a sign-in with each provider of OAuth or OpenID Connect, and looks at where users are sent. */
async function* checkSignIns(deployment: Deployment): Findings {
  const { origin, isTls, base, providers, visit, offline, timeout } = deployment;
  for (const { id, callbackUrl } of providers.filter(isOAuth)) {
    const csrfToken = tokenIn(await visit(`${base}/csrf`));
    if (typeof csrfToken !== "string") {
      return yield warning("sign-in", "No sign-in was tried, since there is no CSRF token.");
    }
    const { status, json, cookies } = await visit(`${base}/signin/${id}`, {
      headers: { origin, "x-auth-return-redirect": "prefer-status" },
      form: { csrfToken, callbackUrl: `${origin}/` },
    });
    const answer = Object(json) as { url?: unknown; code?: unknown; error?: unknown };
    const { url } = answer;
    if (status !== 200 || typeof url !== "string" || !URL.canParse(url)) {
      yield error(
        "sign-in",
        `${id}: ${explainRefusal(status, answer.code ?? answer.error, publicAddress(origin, base))}`,
      );
      continue;
    }
    const problems = [
      ...targetProblems(id, callbackUrl, new URL(url), origin),
      ...cookies.flatMap((cookie) => cookieProblems(cookie, isTls)),
    ];
    yield* problems;
    if (problems.length === 0 && !offline && await isUnregistered(new URL(url), timeout)) {
      yield error("callback", `${id}: the provider does not know the callback URL. Register ${callbackUrl} there.`);
    } else if (problems.length === 0) yield ok("sign-in", `${id}: users are sent to ${new URL(url).origin}.`);
  }
}

/** Whether a provider refuses the callback URL. Many say so only once a user has signed in there. */
async function isUnregistered(target: URL, timeout: number): Promise<boolean> {
  try {
    const headers = { accept: "text/html" };
    const response = await fetch(target, { headers, signal: AbortSignal.timeout(timeout) });
    const text = await response.text();
    return /redirect_uri_mismatch|AADSTS50011/.test(text) || response.status >= 400 && /redirect[_ ]ur[il]/i.test(text);
  } catch {
    return false; // a browser may reach it where this machine does not
  }
}

/** The request to the provider (RFC 6749, section 4.1.1). A pushed one has only a client id (RFC 9126). */
function* targetProblems(id: string, callbackUrl: string, target: URL, origin: string): Generator<Finding> {
  if (target.origin === origin && target.searchParams.has("error")) {
    return yield error("sign-in", `${id}: users are sent to the error page: ${IN_LOG}.`);
  }
  const client = target.searchParams.get("client_id");
  if (client !== null && /^(?:undefined|null)?$/.test(client)) {
    yield error("sign-in", `${id}: the client id is "${client}": set ${variableOf(id, "ID")} (or \`clientId\`).`);
  }
  const redirect = target.searchParams.get("redirect_uri") ?? callbackUrl;
  // A deployment of its own may receive callbacks for this one.
  if (redirect !== callbackUrl) {
    yield ok("callback", `${id}: callbacks go to ${redirect}, by \`redirectProxyUrl\`: register that one.`);
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
