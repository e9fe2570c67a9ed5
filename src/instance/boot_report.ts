/** How an application is set up: for the log at boot, and for the doctor. Nothing of it is secret. */
import type { AuthInstance } from "./auth_instance.ts";
import { cookieWarnings } from "../config/cookie_warnings.ts";
import { cookieNames } from "../config/cookies.ts";
import { environment } from "../config/environment.ts";
import type { Notice } from "../config/notices.ts";
import { isOpenIdProvider } from "../config/provider_sign_out.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { ProviderSummary } from "../provider/summary.ts";

/** How a mount is set up. */
export interface Report {
  /** The mount path as users see it. */
  readonly mount: string;
  /** All of it in a sentence. */
  readonly line: string;
  /** The providers; `undefined` if a function chooses the configuration of each request. */
  readonly providers: readonly ProviderSummary[] | undefined;
  readonly warnings: readonly Notice[];
  /** The table without the warnings. */
  readonly rows: readonly Row[];
}

type Row = readonly [name: string, value: string];

const PER_REQUEST =
  "a function chooses the configuration of each request, which is checked with the first one";

/** How a mount is set up whose configurations a function chooses. */
export function reportPerRequest(mount: string): Report {
  return {
    mount,
    line: `FastifyAuth is mounted at ${mount}; ${PER_REQUEST}.`,
    providers: undefined,
    warnings: [],
    rows: [["mount", mount], ["config", PER_REQUEST]],
  };
}

/** How a mount of a configuration is set up. */
export function reportOf(auth: AuthInstance, mount: string): Report {
  const { config } = auth;
  const { core, origin, originSource, warnings } = config;
  const providers = [...config.providers.values()];
  const secure = origin?.secure ?? false;
  const { strategy, maxAge } = auth.settings(secure);
  const kept = strategy === "jwt" ? "in an encrypted cookie" : "in the database";
  const from = `${origin?.href ?? "that of each request"}, ${originSource.why}`;
  const ids = providers.map(({ id }) => id).join(", ") || "none";
  return {
    mount,
    line: `FastifyAuth is mounted at ${mount}; origin: ${from}; sessions: ${strategy}; providers: ${ids}.`,
    providers,
    warnings: origin === undefined ? warnings : [...warnings, ...cookieWarnings(config, origin, mount)],
    rows: [
      ["mount", mount],
      ["origin", from],
      ["sessions", `${strategy}: ${kept}, for ${toDuration(maxAge)}`],
      ["cookies", cookieNames(core, secure).join(", ")],
      ...providerRows(providers, `${origin?.href ?? "<origin>"}${mount}`, config),
    ],
  };
}

/** What to register at the providers. */
function providerRows(
  providers: readonly ProviderSummary[],
  base: string,
  { providerSignOut, logoutTokens }: ResolvedConfig,
): Row[] {
  if (providers.length === 0) return [["provider", "none: no user can sign in"]];
  const callbacks = providers.map(({ id, type, checks, redirectProxyUrl }): Row => {
    const url = `${redirectProxyUrl?.replace(/\/+$/, "") ?? base}/callback/${id}`;
    const register = type === "oauth" || type === "oidc" ? `, register ${url} there` : "";
    const checked = checks.length === 0 ? "" : `, checks: ${checks.join(", ")}`;
    return ["provider", `${id} (${type})${register}${checked}`];
  });
  const signOuts = providers.filter(isOpenIdProvider).flatMap(({ id }): Row[] => {
    const row = (
      url: string,
      as: string,
    ): Row => ["sign-out", `${id}, register ${base}/${url} there as ${as}`];
    return [
      ...(providerSignOut ? [row("signed-out", "post-logout redirect URI")] : []),
      ...(logoutTokens ? [row(`backchannel-logout/${id}`, "back-channel logout URI")] : []),
    ];
  });
  return [...callbacks, ...signOuts];
}

function toDuration(seconds: number): string {
  const units = [[86_400, "day"], [3600, "hour"], [60, "minute"]] as const;
  const [size, name] = units.find(([size]) => seconds % size === 0) ?? [1, "second"];
  const count = seconds / size;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** The report as a table. */
export function toTable({ rows, warnings }: Pick<Report, "rows" | "warnings">): string {
  const all = [...rows, ...warnings.map(({ message }): Row => ["warning", message])];
  return ["FastifyAuth, as it is set up:", ...all.map(([name, value]) => `  ${name.padEnd(8)}  ${value}`)]
    .join("\n");
}

/** What the log gets at boot: a line, in development a table. */
export function bootMessage(report: Report): string {
  const isTable = environment.NODE_ENV === "development" && report.providers !== undefined;
  return isTable ? toTable(report) : report.line;
}
