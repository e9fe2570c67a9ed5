/** How an application is set up: for the log at boot, and for the doctor. Nothing of it is secret. */
import type { AuthInstance } from "./auth_instance.ts";
import { cookieNames, cookieWarnings, SENT_COOKIES } from "../config/cookies.ts";
import { environment } from "../config/environment.ts";
import type { Notice } from "../config/notices.ts";
import type { ProviderSummary } from "../provider/summary.ts";

export interface Report {
  readonly mount: string;
  readonly line: string;
  readonly table: string;
  /** The providers; `undefined` if a function chooses the configuration of each request. */
  readonly providers?: readonly ProviderSummary[];
  readonly warnings: readonly Notice[];
}

type Row = readonly [name: string, value: string];

const PER_REQUEST = "a function chooses the configuration of each request, which is checked with the first one";

/** How a mount is set up; without a configuration, if a function chooses one. */
export function reportOf(auth: AuthInstance | undefined, mount: string): Report {
  const start = `FastifyAuth is mounted at ${mount};`;
  if (auth === undefined) {
    const table = toTable([["mount", mount], ["config", PER_REQUEST]]);
    return { mount, line: `${start} ${PER_REQUEST}.`, table, warnings: [] };
  }
  const { warnings } = auth;
  const { core, origin, originSource } = auth.config;
  const providers = [...auth.config.providers.values()];
  const secure = origin?.secure ?? false;
  const { strategy, maxAge, ownCookie } = auth.settings(secure);
  const from = `${origin?.href ?? "that of each request"}, ${originSource.why}`;
  const ids = providers.map(({ id }) => id).join(", ") || "none";
  return {
    mount,
    line: `${start} origin: ${from}; sessions: ${strategy}; providers: ${ids}.`,
    get table() {
      const kept = strategy === "jwt" ? "in an encrypted cookie" : "in the database";
      const own = auth.hooks.flatMap(({ cookies = [] }) => cookies).map((cookie) => ownCookie(cookie).name);
      const base = `${origin?.href ?? "<origin>"}${mount}`;
      return toTable([
        ["mount", mount],
        ["origin", from],
        ["sessions", `${strategy}: ${kept}, for ${toDuration(maxAge)}`],
        ["cookies", [...cookieNames(core, secure, SENT_COOKIES), ...own].join(", ")],
        ...providerRows(providers, base),
        ...auth.hooks.flatMap(({ report }) => report?.(base) ?? []),
      ]);
    },
    providers,
    warnings: origin === undefined ? warnings : [...warnings, ...cookieWarnings(auth.config, origin, mount)],
  };
}

function providerRows(providers: readonly ProviderSummary[], base: string): Row[] {
  if (providers.length === 0) return [["provider", "none: no user can sign in"]];
  return providers.map(({ id, type, checks, redirectProxyUrl }): Row => {
    const url = `${redirectProxyUrl?.replace(/\/+$/, "") ?? base}/callback/${id}`;
    const register = type === "oauth" || type === "oidc" ? `, register ${url} there` : "";
    const checked = checks.length === 0 ? "" : `, checks: ${checks.join(", ")}`;
    return ["provider", `${id} (${type})${register}${checked}`];
  });
}

function toDuration(seconds: number): string {
  const units = [[86_400, "day"], [3600, "hour"], [60, "minute"]] as const;
  const [size, name] = units.find(([size]) => seconds % size === 0) ?? [1, "second"];
  return `${seconds / size} ${name}${seconds === size ? "" : "s"}`;
}

function toTable(rows: readonly Row[]): string {
  return ["FastifyAuth, as it is set up:", ...rows.map(toLine)].join("\n");
}

function toLine([name, value]: Row): string {
  return `  ${name.padEnd(8)}  ${value}`;
}

/** What the log gets at boot: a line, in development the table with the warnings. */
export function bootMessage(report: Report): string {
  if (environment.NODE_ENV !== "development") return report.line;
  return [report.table, ...report.warnings.map(({ message }) => toLine(["warning", message]))].join("\n");
}
