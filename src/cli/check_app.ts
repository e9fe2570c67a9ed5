/** Checks the set-up of an application by loading it. */
import process from "node:process";
import type { AuthInstance } from "../instance/auth_instance.ts";
import { type Report, reportOf } from "../instance/boot_report.ts";
import { mountedIn } from "../instance/mount.ts";
import { discoveryRedirect } from "../provider/discovery.ts";
import { discoveryUrl, isDiscovered, type ProviderSummary } from "../provider/summary.ts";
import { variableOf } from "../provider/settings.ts";
import { error, type Finding, isLoopback, NO_PROVIDER, ok, reasonOf, warning } from "./findings.ts";
import { loadApp } from "./load_app.ts";
import { newVisitor, type Visit } from "./visitor.ts";

/**
 * Checks an application by the path of its module. Loading may take the timeout (30 s), and so may each request to a
 * provider (10 s), in milliseconds.
 */
export async function checkApp(file: string, offline: boolean, timeout: number | undefined) {
  const { apps, failure, close } = await loadApp(file, timeout ?? 30_000);
  try {
    if (failure !== undefined) return { findings: [explain(failure)], text: "" };
    const mounts = apps.flatMap(mountedIn);
    const reports = mounts.map(({ mountPath, auth, paths }) =>
      reportOf(auth, auth === undefined ? mountPath : paths.get(auth)!.mount)
    );
    if (reports.length === 0) return { findings: [error("mount", NOT_MOUNTED)], text: "" };
    const findings = await Promise.all(reports.map((report) => checkReport(report, offline, timeout)));
    const own = await Promise.all(mounts.map(({ auth }) => auth ? checkInstance(auth) : []));
    return { findings: [...findings, ...own].flat(), text: reports.map(({ table }) => table).join("\n\n") };
  } finally {
    await close();
  }
}

const NOT_MOUNTED = "The application does not register the plugin: " +
  '`await app.register(auth.plugin, { prefix: "/auth" })`, or `FastifyAuth(config)` in its place.';

async function checkReport({ mount: path, warnings, providers }: Report, offline: boolean, timeout = 10_000) {
  const starts = `FastifyAuth is mounted at ${path}, and the application starts.`;
  if (providers === undefined) return [ok("mount", `${starts} ${PER_REQUEST}`)];
  const documents = offline ? [] : providers.map((provider) => checkDiscovery(provider, timeout));
  return [
    ok("mount", starts),
    ...warnings.map(({ code, message }) => ({ ...warning("setting", message), code })),
    ...(await Promise.all(documents)).flat(),
    ...providers.length === 0 ? [warning("provider", NO_PROVIDER)] : [],
  ];
}

/** What a boot does not look at: the public address, and the tables. */
async function checkInstance(auth: AuthInstance): Promise<Finding[]> {
  const { origin, core: { adapter }, providers } = auth.config;
  const { protocol = "", hostname = "" } = origin === undefined ? {} : new URL(origin.href);
  const isOpen = process.env.NODE_ENV === "production" && protocol === "http:" && !isLoopback(hostname);
  const address = isOpen ? [error("origin", `${origin!.href} ${NO_TLS}`)] : [];
  if (!adapter) return address;
  const types = [...providers.values()].map(({ type }) => type);
  const probes: Record<string, (() => unknown) | false | undefined> = {
    getUserByEmail: () => adapter.getUserByEmail?.("doctor@doctor.invalid"),
    getUserByAccount: () => adapter.getUserByAccount?.({ provider: "doctor", providerAccountId: "doctor" }),
    getSessionAndUser: auth.settings().strategy === "database" &&
      (() => adapter.getSessionAndUser?.("doctor")),
    useVerificationToken: types.includes("email") &&
      (() => adapter.useVerificationToken?.({ identifier: "doctor@doctor.invalid", token: "doctor" })),
    getAuthenticator: types.includes("webauthn") && (() => adapter.getAuthenticator?.("doctor")),
  };
  const findings = Object.entries(probes).map(async ([name, probe]) => {
    try {
      if (probe) await probe();
      return [];
    } catch (cause) {
      return [error("database", `${name}() of the adapter fails: ${reasonOf(cause)}. ${TABLES}`)];
    }
  });
  const failed = (await Promise.all(findings)).flat();
  return [...address, ...failed.length > 0 ? failed : [ok("database", READ)]];
}

const NO_TLS = "has no TLS, so cookies are sent in clear: set AUTH_URL (or `origin`) to the https address.";
const TABLES = "`fastify-authjs schema` prints the tables with their columns.";
const READ = "The adapter finds the tables and the columns that it reads; those that it writes alone are not seen.";

const PER_REQUEST = "A function chooses the configuration of each request, so the settings of tenants are not " +
  "checked here: call the function with one, or check the deployment by its URL.";

async function checkDiscovery({ id, type, factoryId, server }: ProviderSummary, timeout: number): Promise<Finding[]> {
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
    if (status !== 200) return [error("provider", `${what} is answered with ${status}. ${hint}`)];
    const { issuer: found } = Object(json) as { issuer?: unknown };
    if (typeof found !== "string") return [error("provider", `${what} names no issuer. ${hint}`)];
    // Providers of many tenants have a placeholder, as `{tenantid}`.
    const isSame = found.includes("{") || found.replace(/\/$/, "") === issuer.replace(/\/$/, "");
    const keys = await checkKeys(id, json, visit);
    return isSame ? [ok("provider", `"${id}" has its discovery document at ${url}.`), ...keys] : [
      ...keys,
      warning("provider", `${what} is that of the issuer ${found}. Set \`issuer\` (or ${variable}) to it.`),
    ];
  } catch (cause) {
    return [error("provider", `${what} cannot be had: ${reasonOf(cause)}. ${hint}`)];
  }
}

async function checkKeys(id: string, document: unknown, visit: Visit): Promise<Finding[]> {
  const { jwks_uri: url } = Object(document) as { jwks_uri?: unknown };
  if (typeof url !== "string") return [];
  const what = `The keys of "${id}", ${url},`;
  try {
    const { status, json } = await visit(url);
    const { keys } = Object(json) as { keys?: unknown };
    if (status === 200 && Array.isArray(keys) && keys.length > 0) return [];
    return [error("provider", `${what} are answered with ${status}${status === 200 ? " and no key" : ""}.`)];
  } catch (cause) {
    return [error("provider", `${what} cannot be had: ${reasonOf(cause)}. Check that this machine can reach them.`)];
  }
}

/** Where the syntax is wrong: Deno says it in the message, Node in the first line of the stack, or only at a start. */
function placeOf({ name, message, stack = "" }: Error): string {
  if (name !== "SyntaxError" || message.includes("file:")) return "";
  const [first = ""] = stack.split("\n");
  return first.includes(message) ? ". Start the application itself to see in which file and line" : ` (${first})`;
}

/** An error of the set-up says what to change; any other is the application's own. */
function explain(failure: unknown): Finding {
  const text = failure instanceof Error ? failure.message + placeOf(failure) : String(failure);
  const { code } = Object(failure) as { code?: unknown };
  if (typeof code !== "string") return error("start", `The application does not start: ${text}`);
  const loader = code === "ERR_UNKNOWN_FILE_EXTENSION" ? NEEDS_LOADER : "";
  return { ...error("start", `${code}: ${text}${loader}`), code };
}

const NEEDS_LOADER = ". Node loads TypeScript from 22.18 on. Before that it needs a loader: " +
  '`npm install tsx` and NODE_OPTIONS="--import tsx".';
