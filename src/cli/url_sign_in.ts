/**
 * Begins a sign-in with each provider of OAuth or OpenID Connect, and looks at where the user would be sent.
 */
import type { Deployment, ServedProvider } from "./deployment.ts";
import { error, type Finding, ok, warning } from "./findings.ts";
import { problemsOf } from "./url_cookies.ts";

/** Checks the sign-ins of a deployment. */
export async function checkSignIns(deployment: Deployment): Promise<Finding[]> {
  const { providers, visitor, base } = deployment;
  const tried = providers.filter(({ type }) => type === "oauth" || type === "oidc");
  const findings: Finding[] = [];
  for (const provider of tried) {
    const { json } = await visitor.visit(`${base}/csrf`);
    const { csrfToken } = Object(json) as { csrfToken?: unknown };
    if (typeof csrfToken !== "string") {
      return [...findings, warning("sign-in", "No sign-in was tried, since there is no CSRF token.")];
    }
    findings.push(...await checkSignIn(provider, csrfToken, deployment));
  }
  return findings;
}

async function checkSignIn(
  provider: ServedProvider,
  csrfToken: string,
  { origin, base, visitor }: Deployment,
): Promise<Finding[]> {
  const { id } = provider;
  const { status, json, cookies } = await visitor.visit(`${base}/signin/${id}`, {
    headers: { origin, "x-auth-return-redirect": "prefer-status" },
    form: { csrfToken, callbackUrl: `${origin}/` },
  });
  const { url, code, error: kind } = (json ?? {}) as { url?: unknown; code?: unknown; error?: unknown };
  if (status !== 200 || typeof url !== "string" || !URL.canParse(url)) {
    return [error("sign-in", `${id}: ${explainRefusal(status, code ?? kind, origin)}`)];
  }
  const problems = [
    ...checkTarget(provider, new URL(url), origin),
    ...cookies.flatMap((cookie) => problemsOf(cookie, origin.startsWith("https:"))),
  ];
  return problems.length > 0 ? problems : [ok("sign-in", `${id}: users are sent to ${new URL(url).origin}.`)];
}

function explainRefusal(status: number, code: unknown, origin: string): string {
  const what = `a sign-in is answered with ${status}${typeof code === "string" ? ` (${code})` : ""}`;
  switch (code) {
    case "FST_AUTHJS_CROSS_SITE":
      return `${what}: the application takes its own page for that of another site. Set AUTH_URL=${origin}.`;
    case "FST_AUTHJS_UNAVAILABLE":
      return `${what}: the application cannot reach the provider. Its log says which address.`;
    case "FST_AUTHJS_TOO_MANY_REQUESTS":
      return `${what}: the attempts of this machine are limited. Try again later.`;
  }
  return `${what}: the reason is in the log of the application.`;
}

/**
 * The request to the provider (RFC 6749, section 4.1.1). A pushed one shows only the client id (RFC 9126).
 */
function checkTarget({ id, callbackUrl }: ServedProvider, target: URL, origin: string): Finding[] {
  const findings: Finding[] = [];
  if (target.origin === origin && target.searchParams.has("error")) {
    return [
      error(
        "sign-in",
        `${id}: users are sent to the error page: the reason is in the log of the application.`,
      ),
    ];
  }
  const client = target.searchParams.get("client_id");
  if (client !== null && /^(?:undefined|null)?$/.test(client)) {
    const variable = `AUTH_${id.toUpperCase().replaceAll("-", "_")}_ID`;
    findings.push(
      error("sign-in", `${id}: the client id is "${client}": set ${variable} (or \`clientId\`).`),
    );
  }
  const redirect = target.searchParams.get("redirect_uri");
  if (redirect !== null && redirect !== callbackUrl) {
    // A deployment of its own may receive callbacks for this one.
    findings.push(
      ok("callback", `${id}: callbacks go to ${redirect}, by \`redirectProxyUrl\`: register that one.`),
    );
  }
  return findings;
}
