/** How attempts to sign in are limited, as the configuration says. */
import type { Provider } from "@auth/core/providers";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions, RateLimit, RateLimitOptions } from "../types.ts";

/** The limits, each with counters of its own. */
export const LIMIT_NAMES = ["address", "accountFromAddress", "account", "mail", "token"] as const;

/** The name of a limit. */
export type LimitName = typeof LIMIT_NAMES[number];

/** The options, with their defaults. */
export type RateLimitSettings =
  & Readonly<Required<Omit<RateLimitOptions, "redis" | "plugin">>>
  & Readonly<Pick<RateLimitOptions, "redis" | "plugin">>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Check = (name: string, value: unknown) => void;

/** What an option may be, and its default. docs/rate-limits.md says why. */
const OPTIONS: Readonly<Record<keyof RateLimitOptions, readonly [check: Check, byDefault?: unknown]>> = {
  address: [assertLimit, { max: 60, timeWindow: MINUTE_MS }],
  accountFromAddress: [assertLimit, { max: 10, timeWindow: HOUR_MS }],
  account: [assertLimit, { max: 100, timeWindow: 24 * HOUR_MS }],
  mail: [assertLimit, { max: 5, timeWindow: HOUR_MS }],
  token: [assertLimit, { max: 60, timeWindow: HOUR_MS }],
  concurrentPerAccount: [assertPositive, 2],
  concurrentPerAddress: [assertPositive, 8],
  accountName: [assertFunction],
  redis: [assertClient],
  prefix: [assertText, "fastify-authjs:limit:"],
  plugin: [assertFunction],
};

/**
 * The settings of a configuration.
 *
 * @param providers Those for core.
 * @returns `undefined` if attempts are not limited.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a setting that cannot work.
 */
export function rateLimitSettings(
  { rateLimit }: FastifyAuthOptions,
  providers: readonly Provider[],
): RateLimitSettings | undefined {
  if (rateLimit === undefined || rateLimit === false) return undefined;
  const options: RateLimitOptions = rateLimit === true ? {} : rateLimit;
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalid(`\`rateLimit\` is ${JSON.stringify(options)}: write true, false or an object.`);
  }
  assertKnown("rateLimit", options, Object.keys(OPTIONS));
  const fields = nameFields(providers);
  const accountName: RateLimitSettings["accountName"] = (sent, provider) => {
    const field = fields.get(provider);
    return field === undefined ? undefined : String(sent[field] ?? "");
  };
  const settings = Object.entries(OPTIONS).map(([name, [check, byDefault]]) => {
    const value = options[name as keyof RateLimitOptions] ?? byDefault;
    if (value !== undefined) check(`rateLimit.${name}`, value);
    return [name, value];
  });
  return { ...Object.fromEntries(settings), accountName: options.accountName ?? accountName };
}

/** What is recommended in production, if attempts are not limited and `false` is not written. */
export function rateLimitAdvice({ rateLimit }: FastifyAuthOptions, production: boolean): string[] {
  if (rateLimit !== undefined || !production) return [];
  return [
    "Attempts to sign in are not limited. Set `rateLimit: true` (npm install @fastify/rate-limit), " +
    "or `rateLimit: false` where something else limits them.",
  ];
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
  return [...nameFields(providers)].filter(([, field]) => field === undefined).map(([id]) =>
    `The provider "${id}" has no field for the user's name in \`credentials\`, so attempts on one ` +
    "account cannot be counted, only those from one address: name the field there, or set " +
    "`rateLimit.accountName`."
  );
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
function nameFields(providers: readonly Provider[]): ReadonlyMap<string, string | undefined> {
  const forms = (providers as readonly CredentialsShape[]).filter(({ type }) => type === "credentials");
  return new Map(forms.map(({ id = "", credentials = {}, options }) => {
    const inputs = Object.entries(options?.credentials ?? credentials);
    return [options?.id ?? id, inputs.find(([, { type }]) => !OTHER_INPUTS.has(type))?.[0]];
  }));
}

function assertKnown(what: string, options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw invalid(`\`${what}.${unknown}\` is no option: there are ${known.join(", ")}.`);
}

function assertLimit(name: string, limit: unknown): void {
  if (limit === false) return;
  if (typeof limit !== "object" || limit === null) {
    throw invalid(`\`${name}\` must be \`{ max, timeWindow }\` or false.`);
  }
  assertKnown(name, limit, ["max", "timeWindow"]);
  const { max, timeWindow } = limit as Partial<RateLimit>;
  assertPositive(`${name}.max`, max);
  assertPositive(`${name}.timeWindow`, timeWindow, " of milliseconds");
}

function assertPositive(name: string, value: unknown, unit = ""): void {
  if (Number.isSafeInteger(value) && (value as number) > 0) return;
  throw invalid(`\`${name}\` is ${JSON.stringify(value)}: write a whole number${unit} from 1 on.`);
}

function assertFunction(name: string, value: unknown): void {
  if (typeof value !== "function") throw invalid(`\`${name}\` must be a function.`);
}

function assertText(name: string, value: unknown): void {
  if (typeof value !== "string") throw invalid(`\`${name}\` must be a string.`);
}

function assertClient(name: string, client: unknown): void {
  if (typeof client === "object" && ("call" in client! || "sendCommand" in client!)) return;
  throw invalid(`\`${name}\` must be a client of \`ioredis\`, or a connected one of \`redis\`.`);
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
  // Functions are not in the text: they count nothing.
  const [one, other] = [a, b].map(({ rateLimit, core: { secret } }) =>
    JSON.stringify([{ ...rateLimit, redis: undefined }, secret])
  );
  return one === other && a.rateLimit?.redis === b.rateLimit?.redis;
}
