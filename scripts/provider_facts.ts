/**
 * Reads the providers of the installed `@auth/core`: which there are, what each exports, and what its factory says.
 *
 * @module
 */
// Core loads these for the e-mail and WebAuthn providers; Deno gives a package its optional peers only if something
// imports them.
import "@simplewebauthn/server";
import "nodemailer";
import type { Provider } from "@auth/core/providers";
import { fileURLToPath } from "node:url";
import { applyWorkarounds } from "../src/provider/workarounds.ts";

/** What the generated module of one provider is written from. */
export interface ProviderFacts {
  /** Name of core's module, and of the subpath. */
  module: string;
  /** Id of the provider: part of its callback URL and of its environment variables. Usually the module's name. */
  id: string;
  /** Name on the sign-in button. */
  name: string;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  type: string;
  /** Name to import the factory by. */
  factory: string;
  /** Whether an issuer must be configured, may be, or plays no part. */
  issuer: "required" | "optional" | "fixed";
  /** Scopes that are asked for, if the provider says. */
  scope: string | undefined;
  /** How the callback is protected; empty for anything but OAuth and OpenID Connect. */
  checks: string[];
  /** Options without which the factory makes no sense, apart from the issuer. */
  requiredOptions: string[];
  /** Options of its own that may be left out. */
  furtherOptions: string[];
  /** Whether core advises against it. */
  deprecated: boolean;
  /** Named exports that are types. */
  types: string[];
  /** Named exports that are values. */
  values: string[];
}

type Factory = (options: Record<string, unknown>) => Configuration;

interface Configuration {
  id: string;
  name: string;
  type: string;
  issuer?: string;
  wellKnown?: string;
  authorization?: string | { url?: string; params?: { scope?: string } };
  token?: unknown;
  userinfo?: unknown;
  checks?: string[];
  options?: Configuration;
}

/** Options that a type does not call required although the factory fails later without them. */
const UNDECLARED_OPTIONS: Record<string, string[]> = { loops: ["transactionalId"] };

/** Where the installed core lies; Deno says so of a package that is imported, as `applyWorkarounds()` does. */
function coreDirectory(): string {
  return fileURLToPath(new URL(".", import.meta.resolve("@auth/core")));
}

/** The facts of every provider module with a default export, by module name. */
export async function readProviders(): Promise<ProviderFacts[]> {
  const directory = `${coreDirectory()}providers`;
  const modules: string[] = [];
  for await (const { name } of Deno.readDir(directory)) {
    if (name.endsWith(".d.ts")) modules.push(name.slice(0, -".d.ts".length));
  }
  const facts: ProviderFacts[] = [];
  for (const module of modules.sort()) {
    const declarations = await Deno.readTextFile(`${directory}/${module}.d.ts`);
    if (/^export default /m.test(withoutComments(declarations))) {
      facts.push(await readProvider(module, declarations));
    }
  }
  return facts;
}

async function readProvider(module: string, declarations: string): Promise<ProviderFacts> {
  const factory: Factory = (await import(`@auth/core/providers/${module}`)).default;
  // A server, since the SMTP providers refuse to be made without one
  const shipped = factory({ server: "smtp://localhost", clientId: "<client id>" });
  const provider = applyWorkarounds(shipped as unknown as Provider) as unknown as Configuration;
  const { type } = provider;
  const code = withoutComments(declarations);
  const { required, optional } = ownOptions(code);
  const isOAuth = type === "oauth" || type === "oidc";
  return {
    module,
    id: provider.id,
    name: provider.name,
    type,
    factory: factory.name.replace(/Provider$/, ""),
    issuer: isOAuth ? issuerOf(factory, required) : "fixed",
    scope: isOAuth ? scopeOf(provider) : undefined,
    checks: isOAuth ? provider.checks ?? ["pkce"] : [],
    requiredOptions: [...required, ...UNDECLARED_OPTIONS[module] ?? []].filter((option) => option !== "issuer"),
    furtherOptions: optional,
    deprecated: /@deprecated[\s\S]*export default function/.test(declarations),
    ...namedExports(module, code),
  };
}

function issuerOf(factory: Factory, required: string[]): ProviderFacts["issuer"] {
  let read = false;
  const without = factory({
    get issuer() {
      read = true;
      return undefined;
    },
    set issuer(value: unknown) {
      Object.defineProperty(this, "issuer", { value }); // a factory that has a default writes it into its options
    },
  });
  const optional = read;
  const madeOfUndefined = (provider: Configuration) => endpoints(provider).includes("undefined");
  const discoverable = without.issuer ?? without.options?.issuer ?? without.wellKnown;
  if (
    required.includes("issuer") || without.type === "oidc" && discoverable === undefined ||
    madeOfUndefined(without) && !madeOfUndefined(factory({ issuer: "https://issuer.example" }))
  ) return "required";
  return optional ? "optional" : "fixed";
}

function endpoints({ wellKnown, authorization, token, userinfo }: Configuration): string {
  return JSON.stringify([wellKnown, authorization, token, userinfo]);
}

function scopeOf({ authorization }: Configuration): string {
  const fromUrl = (url?: string) => url?.includes("?") ? new URL(url, "https://x").searchParams.get("scope") : null;
  const scope = typeof authorization === "string"
    ? fromUrl(authorization)
    : authorization?.params?.scope ?? fromUrl(authorization?.url);
  return scope ?? "openid profile email"; // core's default
}

/** The members that a factory's parameter adds to the common options: `& { a: string; b?: URL }` or `& SomeInterface`. */
function ownOptions(code: string): { required: string[]; optional: string[] } {
  const parameter = code.match(/^export default function \w+[\s\S]*?\(\w+: [^&]+& ([\s\S]+?)\): /m)?.[1] ??
    "{}";
  const members = parameter.startsWith("{")
    ? parameter
    : code.match(new RegExp(`^(?:export )?interface ${parameter} \\{[\\s\\S]*?^\\}`, "m"))?.[0] ?? "";
  const names = [...members.matchAll(/^ {4}(\w+)(\??):/gm)];
  const pick = (mark: string) => names.flatMap(([, name, optional]) => name && optional === mark ? [name] : []);
  return { required: pick(""), optional: pick("?") };
}

/** Core's declarations are written by the compiler: each export is a line of a known form, or this fails. */
function namedExports(module: string, code: string): { types: string[]; values: string[] } {
  const types: string[] = [];
  const values: string[] = [];
  for (const [line] of code.matchAll(/^export .*/gm)) {
    if (/^export (default |\{\};)/.test(line)) continue;
    const type = line.match(/^export (?:interface|type) (\w+)/)?.[1];
    const list = line.match(/^export type \{ (.+) \} from/)?.[1];
    const value = line.match(/^export declare (?:const|function|class) (\w+)/)?.[1];
    if (type) types.push(type);
    else if (list && !list.includes(" as ")) types.push(...list.split(", "));
    else if (value) values.push(value);
    else {throw new Error(
        `@auth/core/providers/${module} has an export that this script cannot read: ${line}`,
      );}
  }
  return { types: types.sort(), values: values.sort() };
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\//g, "");
}
