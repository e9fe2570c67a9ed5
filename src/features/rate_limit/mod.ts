/** Limits on attempts to sign in, counted by `@fastify/rate-limit`. */
import { timeWarnings } from "../../config/mistakes.ts";
import { each, optionsOf, required, type Rule, shown, TEXT } from "../../config/rules.ts";
import type { FastifyAuthConfig } from "../../types.ts";
import { isRedisClient } from "../../store/send_command.ts";
import { isObject } from "../../utils/decode.ts";
import { later } from "../../utils/later.ts";
import type { CredentialsConfig } from "../../provider/types.ts";
import type { Feature } from "../feature.ts";
import type { RateLimits } from "./limits.ts";
import { LIMITS, type RateLimit, type RateLimitOptions, type RateLimitSettings } from "./options.ts";

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
    : `\`${name}\` is ${shown(value)}: write a whole number${unit} from 1 on.`;

const LIMIT: Rule = (limit, name) => {
  if (limit === false) return undefined;
  if (!isObject(limit)) return `\`${name}\` must be \`{ max, timeWindow }\` or false.`;
  const rules = { max: positive(), timeWindow: positive(" of milliseconds") };
  const { max, timeWindow } = limit as Partial<RateLimit>;
  return optionsOf(rules)(limit, name) ?? rules.max(max, `${name}.max`) ??
    rules.timeWindow(timeWindow, `${name}.timeWindow`);
};

const FUNCTION = required("a function", (value) => typeof value === "function");

const RULES: Readonly<Record<keyof RateLimitOptions, Rule>> = {
  ...each(LIMIT, ...LIMITS),
  ...each(positive(), "concurrentPerAccount", "concurrentPerAddress"),
  accountName: FUNCTION,
  redis: required(
    "a client of `ioredis`, also for a cluster or a sentinel, or a connected one of `redis`",
    isRedisClient,
  ),
  prefix: TEXT,
  plugin: FUNCTION,
};

const rule: Rule = (value, name) => {
  if (typeof value === "boolean") return undefined;
  return isObject(value)
    ? optionsOf(RULES)(value, name)
    : `\`${name}\` is ${shown(value)}: write true, false or an object.`;
};

/** Limits that go on for the next configuration of a tenant, if that counts the same. */
interface Shared {
  /** What is counted, and how, but for functions, which count nothing. */
  readonly settings: string;
  readonly redis: RateLimitOptions["redis"];
  /** The first mount opens them; `auth.signIn()` uses the same. */
  limits?: Promise<RateLimits>;
}

const SHARED = "rate_limit";
const openLimits = later(async () => (await import("./limits.ts")).openLimits);

export const rateLimit: Feature = {
  rules: { rateLimit: rule },
  warnings: [
    ["FST_AUTHJS_WARN_OPTION", ({ config }) => {
      const options = optionsIn(config);
      // Less than a second between attempts limits none.
      return timeWarnings(LIMITS.map((name) => {
        const limit = options[name];
        return [`rateLimit.${name}.timeWindow`, limit ? limit.timeWindow : undefined, 1000];
      }));
    }],
    ["FST_AUTHJS_WARN_RATE_LIMIT", ({ config, core }) => {
      if (optionsIn(config).accountName !== undefined) return [];
      const unnamed = [...nameFields(core.providers)].filter(([, field]) => field === undefined);
      return unnamed.map(([id]) =>
        `The provider "${id}" has no field for the user's name in \`credentials\`, so attempts on one account cannot ` +
        "be counted, only those from one address: name the field there, or set `rateLimit.accountName`."
      );
    }],
  ],
  configure({ config, core, memory }) {
    const fields = nameFields(core.providers);
    const accountName: RateLimitSettings["accountName"] = (sent, provider) => {
      const field = fields.get(provider);
      return field === undefined ? undefined : String(sent[field] ?? "");
    };
    const given = Object.entries(optionsIn(config)).filter(([, value]) => value !== undefined);
    const settings: RateLimitSettings = { ...DEFAULTS, accountName, ...Object.fromEntries(given) };
    const { redis } = settings;
    let shared: Shared = { settings: JSON.stringify([{ ...settings, redis: undefined }, core.secret]), redis };
    const before = memory.get(SHARED) as Shared | undefined;
    if (before?.settings === shared.settings && before.redis === redis) shared = before;
    memory.set(SHARED, shared);
    return {
      async onMount(scope, auth) {
        shared.limits ??= openLimits(scope, settings, auth);
        await shared.limits.catch((error) => {
          // The next configuration of the tenant may name another plugin.
          delete shared.limits;
          throw error;
        });
      },
      onAuthRequest: async (asked) => await (await shared.limits!).admit(asked),
      onAnswer: async (context, answer) => await (await shared.limits!).answer(context, answer, settings.accountName),
      limits: true,
    };
  },
};

function optionsIn({ rateLimit }: FastifyAuthConfig): RateLimitOptions {
  return typeof rateLimit === "object" ? rateLimit : {};
}

const OTHER_INPUTS: ReadonlySet<unknown> = new Set(["password", "hidden", "checkbox", "radio", "submit"]);

/**
 * The field with the user's name of each form with a password, by the id of the provider: the first one that users type
 * and that is shown.
 */
function nameFields(providers: readonly unknown[]): ReadonlyMap<string, string | undefined> {
  const forms = (providers as readonly CredentialsConfig[]).filter(({ type }) => type === "credentials");
  return new Map(forms.map(({ id, credentials = {} }) => {
    const inputs = Object.entries(credentials);
    // As on the sign-in page, `password` is one also without a type.
    return [id, inputs.find(([name, { type = name }]) => !OTHER_INPUTS.has(type))?.[0]];
  }));
}
