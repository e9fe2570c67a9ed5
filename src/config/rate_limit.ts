/** How attempts to sign in are limited, as the configuration says. */
import type { Provider } from "@auth/core/providers";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions, RateLimit, RateLimitOptions } from "../types.ts";

/** The limits that are kept, each with its own counters. */
export type LimitName = "address" | "accountFromAddress" | "account" | "mail" | "token";

/** How attempts are limited. */
export interface RateLimitSettings {
  /** The limits; one that is turned off is missing. */
  readonly limits: Readonly<Partial<Record<LimitName, RateLimit>>>;
  readonly concurrentPerAccount: number;
  readonly concurrentPerAddress: number;
  /** The account that a form with a password is about. */
  readonly accountName: NonNullable<RateLimitOptions["accountName"]>;
  readonly redis: RateLimitOptions["redis"];
  readonly prefix: string;
  readonly plugin: RateLimitOptions["plugin"];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** docs/rate-limits.md says why. */
const DEFAULT_LIMITS: Readonly<Record<LimitName, RateLimit>> = {
  address: { max: 60, timeWindow: MINUTE_MS },
  accountFromAddress: { max: 10, timeWindow: HOUR_MS },
  account: { max: 100, timeWindow: 24 * HOUR_MS },
  mail: { max: 5, timeWindow: HOUR_MS },
  token: { max: 60, timeWindow: HOUR_MS },
};

const LIMIT_NAMES = Object.keys(DEFAULT_LIMITS) as LimitName[];

const OPTIONS: ReadonlySet<string> = new Set<keyof RateLimitOptions>([
  ...LIMIT_NAMES,
  "concurrentPerAccount",
  "concurrentPerAddress",
  "accountName",
  "redis",
  "prefix",
  "plugin",
]);

/**
 * The settings of a configuration.
 *
 * @param providers Those for core.
 * @returns `undefined` where attempts are not limited.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a setting that cannot work.
 */
export function rateLimitSettings(
  { rateLimit }: FastifyAuthOptions,
  providers: readonly Provider[],
): RateLimitSettings | undefined {
  if (rateLimit === undefined || rateLimit === false) return undefined;
  const options: RateLimitOptions = rateLimit === true ? {} : requireOptions(rateLimit);
  const fields = nameFields(providers);
  return {
    limits: Object.fromEntries(
      LIMIT_NAMES.flatMap((name) => {
        const limit = options[name] ?? DEFAULT_LIMITS[name];
        return limit === false ? [] : [[name, requireLimit(name, limit)]];
      }),
    ),
    concurrentPerAccount: requirePositive("concurrentPerAccount", options.concurrentPerAccount ?? 2),
    concurrentPerAddress: requirePositive("concurrentPerAddress", options.concurrentPerAddress ?? 8),
    accountName: requireType("accountName", "function", options.accountName) ??
      ((sent, provider) => valueOf(sent, fields.get(provider))),
    redis: options.redis && requireClient(options.redis),
    prefix: requireType("prefix", "string", options.prefix) ?? "fastify-authjs:limit:",
    plugin: requireType("plugin", "function", options.plugin),
  };
}

/** What is recommended where attempts are not limited in production, unless `false` is written. */
export function rateLimitAdvice({ rateLimit }: FastifyAuthOptions, production: boolean): string[] {
  return rateLimit === undefined && production ? [LIMITS_OFF] : [];
}

/**
 * Warns of forms whose account is unknown.
 *
 * @param providers Those for core.
 */
export function rateLimitWarnings(
  { rateLimit }: FastifyAuthOptions,
  providers: readonly Provider[],
): string[] {
  if (!rateLimit || (rateLimit !== true && rateLimit.accountName !== undefined)) return [];
  const named = nameFields(providers);
  return (providers as readonly CredentialsShape[])
    .filter((provider) => provider.type === "credentials" && !named.has(idOf(provider)))
    .map((provider) =>
      `The provider "${
        idOf(provider)
      }" has no field for the user's name in \`credentials\`, so attempts on one ` +
      "account cannot be counted, only those from one address: name the field there, or set " +
      "`rateLimit.accountName`."
    );
}

const LIMITS_OFF =
  "Attempts to sign in are not limited. Set `rateLimit: true` (npm install @fastify/rate-limit), " +
  "or `rateLimit: false` where something else limits them.";

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
 * The field with the user's name, by the id of the provider: the first one that users type and that is shown.
 */
function nameFields(providers: readonly Provider[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const provider of providers as readonly CredentialsShape[]) {
    if (provider.type !== "credentials") continue;
    const inputs = Object.entries(provider.options?.credentials ?? provider.credentials ?? {});
    const [name] = inputs.find(([, { type }]) => !OTHER_INPUTS.has(type)) ?? [];
    if (name !== undefined) fields.set(idOf(provider), name);
  }
  return fields;
}

function idOf({ id, options }: CredentialsShape): string {
  return options?.id ?? id ?? "";
}

function valueOf(sent: Readonly<Record<string, unknown>>, field: string | undefined): string | undefined {
  return field === undefined ? undefined : String(sent[field] ?? "");
}

function requireOptions(options: unknown): RateLimitOptions {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalid(`\`rateLimit\` is ${JSON.stringify(options)}: write true, false or an object.`);
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.has(name));
  if (unknown === undefined) return options;
  throw invalid(`\`rateLimit.${unknown}\` is no option: there are ${[...OPTIONS].join(", ")}.`);
}

function requireLimit(name: LimitName, limit: RateLimit): RateLimit {
  if (typeof limit !== "object" || limit === null) {
    throw invalid(`\`rateLimit.${name}\` must be \`{ max, timeWindow }\` or false.`);
  }
  const unknown = Object.keys(limit).find((key) => key !== "max" && key !== "timeWindow");
  if (unknown !== undefined) {
    throw invalid(`\`rateLimit.${name}.${unknown}\` is no option: there are max and timeWindow.`);
  }
  return {
    max: requirePositive(`${name}.max`, limit.max),
    timeWindow: requirePositive(`${name}.timeWindow`, limit.timeWindow, " of milliseconds"),
  };
}

function requirePositive(name: string, value: unknown, unit = ""): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw invalid(`\`rateLimit.${name}\` is ${JSON.stringify(value)}: write a whole number${unit} from 1 on.`);
}

function requireType<T>(name: string, type: "function" | "string", value: T): T {
  if (value === undefined || typeof value === type) return value;
  throw invalid(`\`rateLimit.${name}\` must be a ${type}.`);
}

function requireClient<T extends object>(client: T): T {
  if ("call" in client || "sendCommand" in client) return client;
  throw invalid("`rateLimit.redis` must be a client of `ioredis`, or a connected one of `redis`.");
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message);
}

/** What the counters of a configuration depend on. */
interface CountedConfig {
  readonly rateLimit: RateLimitSettings | undefined;
  readonly core: { readonly secret?: string | string[] };
}

/** Whether two configurations of a tenant count the same, so that the counters of one go on for the other. */
export function haveSameLimits(a: CountedConfig, b: CountedConfig): boolean {
  if (a.rateLimit === undefined || b.rateLimit === undefined || a.rateLimit.redis !== b.rateLimit.redis) {
    return false;
  }
  const texts = [a, b].map(({ rateLimit, core: { secret } }) => {
    const { redis: _redis, plugin: _plugin, accountName: _name, ...counted } = rateLimit!;
    return JSON.stringify([counted, secret]);
  });
  return texts[0] === texts[1];
}
