/** Checks the set-up of an application by loading it. */
import { type Report, reportOf } from "../instance/boot_report.ts";
import { mountedIn } from "../instance/mount.ts";
import { discoveryRedirect } from "../provider/discovery.ts";
import { discoveryUrl, isDiscovered, type ProviderSummary } from "../provider/summary.ts";
import { variableOf } from "../provider/settings.ts";
import { about, type Finding, NO_PROVIDER, reasonOf } from "./findings.ts";
import { loadApp } from "./load_app.ts";
import { newVisitor } from "./visitor.ts";

const mount = about("mount");
const provider = about("provider");

/**
 * Checks an application.
 *
 * @param file The path of its module.
 * @param offline Whether providers are left alone.
 * @param timeout How long loading (30 s), and each request to a provider (10 s), may take, in milliseconds.
 * @throws {NoApp} If the module makes no application, or is not ready in time.
 */
export async function checkApp(
  file: string,
  offline: boolean,
  timeout: number | undefined,
): Promise<{ findings: Finding[]; text: string }> {
  const { apps, failure, close } = await loadApp(file, timeout ?? 30_000);
  try {
    if (failure !== undefined) return { findings: [explain(failure)], text: "" };
    const reports = apps.flatMap(mountedIn).map(({ mountPath, auth, paths }) =>
      reportOf(auth, auth === undefined ? mountPath : paths.get(auth)!.mount)
    );
    if (reports.length === 0) return { findings: [mount.error(NOT_MOUNTED)], text: "" };
    const findings = await Promise.all(reports.map((report) => checkReport(report, offline, timeout)));
    return { findings: findings.flat(), text: reports.map(({ table }) => table).join("\n\n") };
  } finally {
    await close();
  }
}

const NOT_MOUNTED = "The application does not register FastifyAuth(): " +
  '`await app.register(FastifyAuth(config), { prefix: "/auth" })`.';

async function checkReport(
  { mount: path, warnings, providers }: Report,
  offline: boolean,
  timeout = 10_000,
): Promise<Finding[]> {
  const starts = `FastifyAuth is mounted at ${path}, and the application starts.`;
  if (providers === undefined) return [mount.ok(`${starts} ${PER_REQUEST}`)];
  const documents = offline ? [] : providers.map((provider) => checkDiscovery(provider, timeout));
  return [
    mount.ok(starts),
    ...warnings.map(({ code, message }) => ({ ...about("setting").warning(message), code })),
    ...(await Promise.all(documents)).flat(),
    ...providers.length === 0 ? [provider.warning(NO_PROVIDER)] : [],
  ];
}

const PER_REQUEST =
  "A function chooses the configuration of each request, so the settings of tenants are not " +
  "checked here: call the function with one, or check the deployment by its URL.";

async function checkDiscovery(
  { id, type, factoryId, server }: ProviderSummary,
  timeout: number,
): Promise<Finding[]> {
  const { issuer, wellKnown } = server;
  if ((type !== "oauth" && type !== "oidc") || issuer === undefined || !isDiscovered(server)) return [];
  const url = wellKnown ?? discoveryUrl(issuer);
  const variable = variableOf(factoryId, "ISSUER");
  const what = `The discovery document of "${id}", ${url},`;
  const hint = `Check \`issuer\` (or ${variable}), and that this machine can reach it.`;
  try {
    const visit = newVisitor(timeout);
    const reply = await visit(url);
    // The sign-in follows one redirect, too.
    const target = discoveryRedirect(reply, new URL(url));
    const { status, json } = target === undefined ? reply : await visit(target.href);
    if (status !== 200) return [provider.error(`${what} is answered with ${status}. ${hint}`)];
    const { issuer: found } = Object(json) as { issuer?: unknown };
    if (typeof found !== "string") return [provider.error(`${what} names no issuer. ${hint}`)];
    // Providers of many tenants have a placeholder, as `{tenantid}`.
    const isSame = found.includes("{") || found.replace(/\/$/, "") === issuer.replace(/\/$/, "");
    return isSame
      ? [provider.ok(`"${id}" has its discovery document at ${url}.`)]
      : [provider.warning(`${what} is that of the issuer ${found}. Set \`issuer\` (or ${variable}) to it.`)];
  } catch (cause) {
    return [provider.error(`${what} cannot be had: ${reasonOf(cause)}. ${hint}`)];
  }
}

/** An error of the set-up says what to change; any other is the application's own. */
function explain(failure: unknown): Finding {
  const text = failure instanceof Error ? failure.message : String(failure);
  const { code } = Object(failure) as { code?: unknown };
  if (typeof code !== "string") return about("start").error(`The application does not start: ${text}`);
  const loader = code === "ERR_UNKNOWN_FILE_EXTENSION" ? NEEDS_LOADER : "";
  return { ...about("start").error(`${code}: ${text}${loader}`), code };
}

const NEEDS_LOADER = ". Node loads TypeScript from 22.18 on. Before that it needs a loader: " +
  '`npm install tsx` and NODE_OPTIONS="--import tsx".';
