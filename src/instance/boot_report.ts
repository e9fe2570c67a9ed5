/** What the log gets at boot: how this application was set up, in a line or as a table. */
import type { AuthInstance } from "./auth_instance.ts";
import { cookieWarnings } from "../config/cookie_warnings.ts";
import { cookieNames } from "../config/cookies.ts";
import type { Notice } from "../config/notices.ts";
import { isOpenIdProvider } from "../config/provider_sign_out.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import { discoveryUrl, isDiscovered, type ProviderSummary } from "../provider/summary.ts";
import { variableOf } from "../provider/variables.ts";
import type { Log } from "../utils/log.ts";

/** How a mount is set up. Nothing in it is secret. */
export interface Report {
  /** The mount path as users see it. */
  readonly mount: string;
  /** The public origin; without one it is that of each request. */
  readonly origin: string | undefined;
  /** Why it is this one. */
  readonly originWhy: string;
  readonly strategy: "jwt" | "database";
  /** How long a session lasts, in seconds. */
  readonly maxAge: number;
  /** Names of cookies, that of the session first. */
  readonly cookies: readonly string[];
  readonly providers: readonly ProviderReport[];
  readonly warnings: readonly Notice[];
}

/**
 * How a mount is set up whose configuration is chosen for each request: what it is, is known with the
 * request.
 */
export interface RequestReport {
  readonly mount: string;
  readonly perRequest: true;
}

/** How a provider is set up. */
export interface ProviderReport {
  readonly id: string;
  readonly type: string;
  /** What to register at the provider; none for what has no callback there. */
  readonly callbackUrl?: string;
  /** What to register as post-logout redirect URI, with `providerSignOut`. */
  readonly signedOutUrl?: string;
  /** What to register as back-channel logout URI, with `backchannelLogout`. */
  readonly backchannelLogoutUrl?: string;
  readonly checks: readonly string[];
  /** Where its endpoints are looked up; none where they are configured. */
  readonly discovery?: Discovery;
}

/** A discovery document (OpenID Connect Discovery 1.0, section 4). */
export interface Discovery {
  readonly issuer: string;
  readonly url: string;
  /** The environment variable that sets the issuer. */
  readonly variable: string;
}

/** Logs how a mount is set up: one line, or the table with `doctor`. */
export function reportBoot(log: Log, report: Report | RequestReport, doctor: boolean): void {
  if ("perRequest" in report) {
    log.info({}, `FastifyAuth is mounted at ${report.mount}; ${PER_REQUEST}.`);
    return;
  }
  const { mount, origin, originWhy, strategy, providers } = report;
  if (doctor) {
    log.info({ doctor: report }, toTable(report));
    return;
  }
  const ids = providers.map(({ id }) => id).join(", ") || "none";
  log.info(
    {},
    `FastifyAuth is mounted at ${mount}; origin: ${origin ?? "that of each request"}, ${originWhy}; ` +
      `sessions: ${strategy}; providers: ${ids}.`,
  );
}

const PER_REQUEST =
  "a function chooses the configuration of each request, which is checked with the first one";

/** Finds out how a mount is set up. */
export function reportOf(auth: AuthInstance, mount: string): Report {
  const { config } = auth;
  const { core, origin, originSource, providers, warnings } = config;
  const secure = origin?.secure ?? false;
  const { strategy, maxAge } = auth.settings(secure);
  const base = `${origin?.href ?? "<origin>"}${mount}`;
  return {
    mount,
    origin: origin?.href,
    originWhy: originSource.why,
    strategy,
    maxAge,
    cookies: cookieNames(core, secure),
    providers: [...providers.values()].map((provider) => ({
      ...toProviderReport(provider, base),
      ...signOutUrls(provider, base, config),
    })),
    warnings: origin === undefined ? warnings : [...warnings, ...cookieWarnings(config, origin, mount)],
  };
}

function toProviderReport(provider: ProviderSummary, base: string): ProviderReport {
  const { id, type, checks, redirectProxyUrl } = provider;
  const hasCallback = type === "oauth" || type === "oidc";
  const callbackUrl = `${redirectProxyUrl?.replace(/\/+$/, "") ?? base}/callback/${id}`;
  const discovery = hasCallback ? toDiscovery(provider) : undefined;
  return { id, type, checks, ...(hasCallback && { callbackUrl }), ...(discovery && { discovery }) };
}

/** The URLs of sign-outs that a provider has to know. */
function signOutUrls(
  provider: ProviderSummary,
  base: string,
  { providerSignOut, logoutTokens }: ResolvedConfig,
): Pick<ProviderReport, "signedOutUrl" | "backchannelLogoutUrl"> {
  if (!isOpenIdProvider(provider)) return {};
  return {
    ...(providerSignOut && { signedOutUrl: `${base}/signed-out` }),
    ...(logoutTokens && { backchannelLogoutUrl: `${base}/backchannel-logout/${provider.id}` }),
  };
}

function toDiscovery({ factoryId, server }: ProviderSummary): Discovery | undefined {
  const { issuer, wellKnown } = server;
  if (issuer === undefined || !isDiscovered(server)) return undefined;
  return { issuer, url: wellKnown ?? discoveryUrl(issuer), variable: variableOf(factoryId, "ISSUER") };
}

/** A report as a table. */
export function toTable(report: Report | RequestReport): string {
  if ("perRequest" in report) return tableOf([["mount", report.mount], ["config", PER_REQUEST]]);
  const { mount, origin, originWhy, strategy, maxAge, cookies, providers, warnings } = report;
  const kept = strategy === "jwt" ? "in an encrypted cookie" : "in the database";
  const rows: [string, string][] = [
    ["mount", mount],
    ["origin", `${origin ?? "that of each request"}, ${originWhy}`],
    ["sessions", `${strategy}: ${kept}, for ${toDuration(maxAge)}`],
    ["cookies", cookies.join(", ")],
    ...providers.map((provider): [string, string] => ["provider", toLine(provider)]),
    ...providers.flatMap(signOutRows),
    ...(providers.length === 0 ? [["provider", "none: no user can sign in"] as [string, string]] : []),
    ...warnings.map(({ message }): [string, string] => ["warning", message]),
  ];
  return tableOf(rows);
}

function tableOf(rows: readonly (readonly [name: string, value: string])[]): string {
  return ["FastifyAuth, as it is set up:", ...rows.map(([name, value]) => `  ${name.padEnd(8)}  ${value}`)]
    .join("\n");
}

function signOutRows({ id, signedOutUrl, backchannelLogoutUrl }: ProviderReport): [string, string][] {
  const urls = { "post-logout redirect URI": signedOutUrl, "back-channel logout URI": backchannelLogoutUrl };
  return Object.entries(urls).filter(([, url]) => url !== undefined)
    .map(([as, url]) => ["sign-out", `${id}, register ${url} there as ${as}`]);
}

function toLine({ id, type, callbackUrl, checks }: ProviderReport): string {
  const register = callbackUrl === undefined ? "" : `, register ${callbackUrl} there`;
  return `${id} (${type})${register}${checks.length === 0 ? "" : `, checks: ${checks.join(", ")}`}`;
}

function toDuration(seconds: number): string {
  const units: [number, string][] = [[86_400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, name] = units.find(([size]) => seconds >= size && seconds % size === 0) ?? [1, "second"];
  const count = seconds / size;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
