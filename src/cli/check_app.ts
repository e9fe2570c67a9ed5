/** Checks the set-up of an application by loading it. */
import { type Report, reportOf, reportPerRequest, toTable } from "../instance/boot_report.ts";
import { mountedIn } from "../instance/mount.ts";
import { discoveryRedirect } from "../provider/discovery.ts";
import { discoveryUrl, isDiscovered, type ProviderSummary } from "../provider/summary.ts";
import { variableOf } from "../provider/variables.ts";
import { error, type Finding, ok, warning } from "./findings.ts";
import { type App, loadApp } from "./load_app.ts";
import { reasonOf } from "./reason.ts";

/** How an application is checked. */
export interface AppOptions {
  /** How long loading, and each request to a provider, may take, in milliseconds. */
  readonly timeout: number | undefined;
  /** Whether providers are left alone. */
  readonly offline: boolean;
}

/** How long loading may take, in milliseconds. */
const LOAD_TIMEOUT = 30_000;

/** How long a provider may take, in milliseconds. */
const PROVIDER_TIMEOUT = 10_000;

/**
 * Checks an application.
 *
 * @param file The path of its module.
 * @throws {NoApp} Where the module makes no application, or is not ready in time.
 */
export async function checkApp(
  file: string,
  options: AppOptions,
): Promise<{ findings: Finding[]; text: string }> {
  const { apps, failure, close } = await loadApp(file, options.timeout ?? LOAD_TIMEOUT);
  try {
    if (failure !== undefined) return { findings: [explain(failure)], text: "" };
    const reports = apps.flatMap(reportsOf);
    if (reports.length === 0) return { findings: [NOT_MOUNTED], text: "" };
    const findings = await Promise.all(reports.map((report) => checkReport(report, options)));
    // Warnings are findings, which follow the table.
    const tables = reports.map(({ rows }) => toTable({ rows, warnings: [] }));
    return { findings: findings.flat(), text: tables.join("\n\n") };
  } finally {
    await close();
  }
}

const NOT_MOUNTED = error(
  "mount",
  'The application does not register FastifyAuth(): `await app.register(FastifyAuth(config), { prefix: "/auth" })`.',
);

function reportsOf(app: App): Report[] {
  return mountedIn(app).map(({ mountPath, auth, paths }) =>
    auth === undefined ? reportPerRequest(mountPath) : reportOf(auth, paths.get(auth)!.mount)
  );
}

async function checkReport(
  { mount, warnings, providers }: Report,
  { timeout, offline }: AppOptions,
): Promise<Finding[]> {
  if (providers === undefined) return [ok("mount", `FastifyAuth is mounted at ${mount}, ${PER_REQUEST}`)];
  const check = (provider: ProviderSummary) => checkDiscovery(provider, timeout ?? PROVIDER_TIMEOUT);
  const documents = offline ? [] : await Promise.all(providers.map(check));
  const findings = [
    ...warnings.map(({ code, message }) => ({ ...warning("setting", message), code })),
    ...documents.filter((finding) => finding !== undefined),
    ...(providers.length === 0 ? [warning("provider", "There is no provider, so no user can sign in.")] : []),
  ];
  return [ok("mount", `FastifyAuth is mounted at ${mount}, and the application starts.`), ...findings];
}

const PER_REQUEST =
  "and the application starts. A function chooses the configuration of each request, so the " +
  "settings of tenants are not checked here: call the function with one, or check the deployment by its URL.";

async function checkDiscovery(
  { id, type, factoryId, server }: ProviderSummary,
  timeout: number,
): Promise<Finding | undefined> {
  const { issuer, wellKnown } = server;
  if ((type !== "oauth" && type !== "oidc") || issuer === undefined || !isDiscovered(server)) {
    return undefined;
  }
  const url = wellKnown ?? discoveryUrl(issuer);
  const variable = variableOf(factoryId, "ISSUER");
  const what = `The discovery document of "${id}", ${url},`;
  const hint = `Check \`issuer\` (or ${variable}), and that this machine can reach it.`;
  try {
    const response = await fetchDocument(new URL(url), timeout);
    if (!response.ok) return error("provider", `${what} is answered with ${response.status}. ${hint}`);
    const found = (await response.json() as { issuer?: unknown } | null)?.issuer;
    if (typeof found !== "string") return error("provider", `${what} names no issuer. ${hint}`);
    if (isSame(found, issuer)) return ok("provider", `"${id}" has its discovery document at ${url}.`);
    return warning(
      "provider",
      `${what} is that of the issuer ${found}. Set \`issuer\` (or ${variable}) to it.`,
    );
  } catch (cause) {
    return error("provider", `${what} cannot be had: ${reasonOf(cause)}. ${hint}`);
  }
}

/** As the sign-in reads it, which follows one redirect. */
async function fetchDocument(url: URL, timeout: number): Promise<Response> {
  const options = { redirect: "manual", signal: AbortSignal.timeout(timeout) } as const;
  const response = await fetch(url, options);
  const target = discoveryRedirect(response, url);
  if (target === undefined) return response;
  await response.body?.cancel();
  return await fetch(target, options);
}

/** Providers of many tenants have a placeholder, as `{tenantid}`. */
function isSame(found: string, issuer: string): boolean {
  return found.includes("{") || found.replace(/\/$/, "") === issuer.replace(/\/$/, "");
}

/** An error of the set-up says what to change; any other is the application's own. */
function explain(failure: unknown): Finding {
  const text = failure instanceof Error ? failure.message : String(failure);
  const { code } = (failure ?? {}) as { code?: unknown };
  if (typeof code !== "string") return error("start", `The application does not start: ${text}`);
  return {
    ...error("start", `${code}: ${text}${code === "ERR_UNKNOWN_FILE_EXTENSION" ? NEEDS_LOADER : ""}`),
    code,
  };
}

const NEEDS_LOADER = ". Node loads TypeScript from 22.18 on. Before that it needs a loader: " +
  '`npm install tsx` and NODE_OPTIONS="--import tsx".';
