/** How attempts to sign in are limited, as the configuration says. */
import type { Provider } from "@auth/core/providers";
import { isObject, optionsOf, required, type Rule, TEXT } from "../../config/rules.ts";
import type { RateLimit, RateLimitOptions } from "./options.ts";

/** The limits, each with counters of its own. */
export const LIMIT_NAMES = ["address", "accountFromAddress", "account", "mail", "token"] as const;

export type LimitName = typeof LIMIT_NAMES[number];

export type RateLimitSettings =
  & Readonly<Required<Omit<RateLimitOptions, "redis" | "plugin">>>
  & Readonly<Pick<RateLimitOptions, "redis" | "plugin">>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** docs/rate-limits.md says why. */
const DEFAULTS = {
  address: { max: 60, timeWindow: MINUTE_MS },
  accountFromAddress: { max: 10, timeWindow: HOUR_MS },
  account: { max: 100, timeWindow: 24 * HOUR_MS },
  mail: { max: 5, timeWindow: HOUR_MS },
  token: { max: 60, timeWindow: HOUR_MS },
  concurrentPerAccount: 2,
  concurrentPerAddress: 8,
  prefix: "fastify-authjs:limit:",
};

const positive = (unit = ""): Rule => (value, name) =>
  Number.isSafeInteger(value) && (value as number) > 0
    ? undefined
    : `\`${name}\` is ${JSON.stringify(value)}: write a whole number${unit} from 1 on.`;

const LIMIT: Rule = (limit, name) => {
  if (limit === false) return undefined;
  if (!isObject(limit)) return `\`${name}\` must be \`{ max, timeWindow }\` or false.`;
  const { max = null, timeWindow = null, ...others } = limit as Partial<RateLimit>;
  const rules = { max: positive(), timeWindow: positive(" of milliseconds") };
  return optionsOf(rules)({ max, timeWindow, ...others }, name);
};

const FUNCTION = required("a function", (value) => typeof value === "function");

const RULES: Readonly<Record<keyof RateLimitOptions, Rule>> = {
  address: LIMIT,
  accountFromAddress: LIMIT,
  account: LIMIT,
  mail: LIMIT,
  token: LIMIT,
  concurrentPerAccount: positive(),
  concurrentPerAddress: positive(),
  accountName: FUNCTION,
  redis: required(
    "a client of `ioredis`, or a connected one of `redis`",
    (client) => isObject(client) && ("call" in client || "sendCommand" in client),
  ),
  prefix: TEXT,
  plugin: FUNCTION,
};

export const rateLimitRule: Rule = (value, name) => {
  if (typeof value === "boolean") return undefined;
  return isObject(value)
    ? optionsOf(RULES)(value, name)
    : `\`${name}\` is ${JSON.stringify(value)}: write true, false or an object.`;
};

export function rateLimitSettings(
  options: RateLimitOptions,
  providers: readonly Provider[],
): RateLimitSettings {
  const fields = nameFields(providers);
  const accountName: RateLimitSettings["accountName"] = (sent, provider) => {
    const field = fields.get(provider);
    return field === undefined ? undefined : String(sent[field] ?? "");
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...DEFAULTS, accountName, ...Object.fromEntries(given) };
}

/** A provider of core, as far as it is about the fields of a form. */
interface CredentialsShape {
  readonly type?: string;
  readonly id?: string;
  readonly credentials?: Readonly<Record<string, { readonly type?: string }>>;
  readonly options?: Pick<CredentialsShape, "id" | "credentials">;
}

/** Types of inputs that name no user. */
const OTHER_INPUTS: ReadonlySet<unknown> = new Set(["password", "hidden", "checkbox", "radio", "submit"]);

/**
 * The field with the user's name of each form with a password, by the id of the provider: the first one that
 * users type and that is shown.
 */
export function nameFields(providers: readonly Provider[]): ReadonlyMap<string, string | undefined> {
  const forms = (providers as readonly CredentialsShape[]).filter(({ type }) => type === "credentials");
  return new Map(forms.map(({ id = "", credentials = {}, options }) => {
    const inputs = Object.entries(options?.credentials ?? credentials);
    return [options?.id ?? id, inputs.find(([, { type }]) => !OTHER_INPUTS.has(type))?.[0]];
  }));
}
