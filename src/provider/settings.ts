/** A provider with the settings of the application, which core's factories keep apart under `options`. */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import type { Profile } from "@auth/core/types";
import { invalidProvider } from "../errors.ts";
import { parseJsonObject } from "../utils/decode.ts";

/** What is read or written of a provider, by the names of its settings. */
export type Settings = Record<PropertyKey, unknown>;

/** Checks one of `providers`: a wrong import makes it `undefined`, or a module. */
export function requireProvider(provider: unknown, index: number): void {
  if (typeof provider !== "function") requireId(provider, index, "is");
}

/** A copy that core may write to. A factory stays one: core calls it, and its settings come from the environment. */
export function copyProvider(provider: Provider, index: number): Provider {
  if (typeof provider !== "function") return clonePlain(provider);
  const factory = provider as (options: never) => unknown;
  return ((options: never) => {
    let made: unknown;
    try {
      made = factory(options);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const reason = message.replace(/\.? ?Read more at \S*$/, ""); // core's link
      throw invalidProvider(
        `\`providers[${index}]\` is a function that fails without settings: ${reason}. ` +
          `Call it with them, as in \`${factory.name || "Provider"}({ … })\`.`,
        { cause: error },
      );
    }
    requireId(made, index, "is a function that returned");
    return clonePlain(made);
  }) as unknown as Provider;
}

function requireId(value: unknown, index: number, what: string): void {
  const { id, type } = Object(value) as Settings;
  if (typeof id === "string") return;
  const problem = `\`providers[${index}]\` ${what} ${describe(value)}`;
  if (typeof type === "string") throw invalidProvider(`${problem}. Give it one, such as \`id: "corp"\`.`);
  throw invalidProvider(
    `${problem}, which is no provider. Import the default export, as in ` +
      '`import GitHub from "fastify-authjs/providers/github"` (under CommonJS ' +
      "`const { default: GitHub } = require(…)`), and write `GitHub` or `GitHub({ … })`.",
  );
}

function describe(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return "an array";
  if ("then" in value) return "a promise";
  return "default" in value ? "a module" : "an object without an `id`";
}

/** A credentials provider needs an `authorize()` of its own: that of the factory refuses every sign-in. */
export function requireAuthorize(provider: Provider): void {
  const { id, type, authorize, options } = provider as unknown as Settings & { readonly options?: Settings };
  if (type !== "credentials" || typeof options?.authorize === "function") return;
  // The one of the factory takes no parameter.
  if (typeof authorize === "function" && (options === undefined || authorize.length > 0)) return;
  throw invalidProvider(
    `The provider "${id}" has no authorize(), so it would refuse every sign-in. Give it one: ` +
      "`Credentials({ credentials: { … }, async authorize(fields) { return user or null; } })`.",
  );
}

const FACTORY_ID = Symbol("fastify-authjs.factoryId");

/** The id that the factory of a provider gives, by which its environment variables are named. */
export function factoryIdOf(provider: object): string {
  const { [FACTORY_ID]: factoryId, id } = provider as Settings;
  return String(factoryId ?? id ?? "");
}

/** The environment; an empty variable counts as unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variable of one setting, as core names it: `AUTH_<ID>_<setting>`. */
export function variableOf(id: string, setting: "ID" | "SECRET" | "ISSUER" | "KEY"): string {
  return `AUTH_${id.toUpperCase().replace(/-/g, "_")}_${setting}`;
}

/** Merges the `options` over the rest, as core does with each request; null is the same as unset. */
export function applyOptions(provider: Provider): Provider {
  const { options: given = {}, ...own } = provider as unknown as Settings & { readonly options?: Settings };
  const options: Settings = { ...given };
  for (const name of Object.keys(options)) if (options[name] === null) delete options[name];
  const merged = mergeAsCore(clonePlain(own), options) as Settings;
  return {
    ...merged,
    [FACTORY_ID]: own.id,
    // A symbol, which core does not merge; as there, the provider's own comes first.
    [customFetch]: own[customFetch] ?? options[customFetch],
    // Merged into core's default it would have an empty user name if none is set, which servers refuse.
    ...(options.server !== undefined && { server: options.server }),
    authorization: parseClaims(merged.authorization, String(merged.id)),
  } as unknown as Provider;
}

/** `claims` (OpenID Connect Core 1.0 section 5.5) as an object: core would write a JSON text as JSON once more. */
function parseClaims(authorization: unknown, id: string): unknown {
  const { params } = (authorization ?? {}) as { readonly params?: Settings };
  if (typeof params?.claims !== "string") return authorization;
  const claims = parseJsonObject(params.claims);
  if (claims !== undefined) return { ...authorization as object, params: { ...params, claims } };
  throw invalidProvider(
    `\`authorization.params.claims\` of the provider "${id}" is no JSON object: write it as an object.`,
  );
}

/** Core's default for `profile` (`defaultProfile` of 0.41.3), which it does not export. */
export function defaultProfile(claims: Profile): Record<string, unknown> {
  const { sub, name, nickname, preferred_username, email, picture } = claims;
  const user = { id: sub ?? claims.id, name: name ?? nickname ?? preferred_username, email, image: picture };
  return Object.fromEntries(Object.entries(user).filter(([, value]) => value !== undefined));
}

/** Gives an OAuth provider the default `profile`, so that its users are checked: a userinfo answer may have no id. */
export function withDefaultProfile(provider: Provider): Provider {
  const { type, profile, options } = provider as unknown as Settings & { readonly options?: Settings };
  if (type !== "oauth" || profile || options?.profile) return provider;
  return { ...provider, profile: defaultProfile } as unknown as Provider;
}

function isPlain(value: unknown): value is Record<PropertyKey, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/** Copies plain objects and arrays deeply, with symbol keys such as `customFetch`. */
function clonePlain<T>(value: T): T {
  if (!isPlain(value)) return value;
  const copy = (Array.isArray(value) ? [] : {}) as Record<PropertyKey, unknown>;
  for (const key of Reflect.ownKeys(value)) copy[key] = clonePlain(value[key]);
  return copy as T;
}

/** Merges as core does: deeply, arrays by index; but an instance of a class such as a `CryptoKey` stays one. */
function mergeAsCore<T extends object>(target: T, source: object): T {
  const merged = target as Record<string, unknown>;
  for (const [key, value] of Object.entries(source)) {
    if (!isPlain(value)) {
      if (value !== undefined) merged[key] = value;
      continue;
    }
    const known = merged[key];
    const into = typeof known === "object" && known !== null ? known : Array.isArray(value) ? [] : {};
    merged[key] = mergeAsCore(into, value);
  }
  return target;
}
