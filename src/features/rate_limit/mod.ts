/** Limits on attempts to sign in, counted by `@fastify/rate-limit`. */
import type { Provider } from "@auth/core/providers";
import { timeWarnings } from "../../config/mistakes.ts";
import type { JsonSchema } from "../../errors.ts";
import type { Feature } from "../../instance/feature.ts";
import type { FastifyAuthConfig } from "../../types.ts";
import type { RateLimitOptions } from "./options.ts";
import type { RateLimits } from "./rate_limits.ts";
import { later } from "../../utils/later.ts";
import { LIMIT_NAMES, nameFields, rateLimitRule, rateLimitSettings } from "./settings.ts";

/** Limits that go on for the next configuration of a tenant, if that counts the same. */
interface Shared {
  /** What is counted, and how, but for functions, which count nothing. */
  readonly settings: string;
  readonly redis: RateLimitOptions["redis"];
  /** The first mount opens them; `auth.signIn()` uses the same. */
  limits?: Promise<RateLimits>;
}

const SHARED = "rate_limit";

const openLimits = later(async () => (await import("./rate_limits.ts")).openLimits);

export const rateLimit: Feature = {
  rules: { rateLimit: rateLimitRule },
  warnings: [
    ["FST_AUTHJS_WARN_OPTION", ({ config }) => {
      const options = optionsIn(config);
      // Less than a second between attempts limits none.
      return timeWarnings(
        LIMIT_NAMES.map((name) => {
          const { timeWindow } = options[name] || {};
          return [`rateLimit.${name}.timeWindow`, timeWindow, 1000];
        }),
      );
    }],
    ["FST_AUTHJS_WARN_RATE_LIMIT", ({ config, core }) => {
      if (optionsIn(config).accountName !== undefined) return [];
      const unnamed = [...nameFields(core.providers as Provider[])].filter(([, field]) => field === undefined);
      return unnamed.map(([id]) =>
        `The provider "${id}" has no field for the user's name in \`credentials\`, so attempts on one account cannot ` +
        "be counted, only those from one address: name the field there, or set `rateLimit.accountName`."
      );
    }],
  ],
  configure({ config, core, memory }) {
    const settings = rateLimitSettings(optionsIn(config), core.providers as Provider[]);
    const { redis } = settings;
    let shared: Shared = {
      settings: JSON.stringify([{ ...settings, redis: undefined }, core.secret]),
      redis,
    };
    const before = memory.get(SHARED) as Shared | undefined;
    if (before?.settings === shared.settings && before.redis === redis) shared = before;
    memory.set(SHARED, shared);
    return {
      async onMount(scope, auth) {
        shared.limits ??= openLimits(scope, settings, auth);
        await shared.limits;
      },
      onAuthRequest: async (asked) => await (await shared.limits)?.admit(asked),
      async onAnswer(context, answer) {
        const limits = await shared.limits;
        return limits === undefined ? await answer() : await limits.answer(context, answer, settings.accountName);
      },
      refusals: { 429: TOO_MANY_REQUESTS },
    };
  },
};

function optionsIn({ rateLimit }: FastifyAuthConfig): RateLimitOptions {
  return typeof rateLimit === "object" ? rateLimit : {};
}

const TEXT = { type: "string" } as const;

const TOO_MANY_REQUESTS: JsonSchema = {
  type: "object",
  description: "There were too many attempts.",
  required: ["error"],
  properties: { error: TEXT, code: TEXT, message: TEXT, statusCode: { type: "integer" } },
  headers: { "Retry-After": { type: "integer", description: "Seconds until the next attempt." } },
};
