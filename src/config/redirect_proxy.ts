/** To which deployments a redirect proxy hands callbacks on. */
import { invalidConfig } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { ProviderSummary } from "../provider/summary.ts";

export type AllowedOrigins = Readonly<{ size: number; has(address: string): boolean }>;

/** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not an array of origins. */
export function redirectProxyOrigins(value: unknown = []): AllowedOrigins {
  if (!Array.isArray(value)) throw invalidConfig(`\`redirectProxyOrigins\` must be an array of origins, ${EXAMPLE}.`);
  const patterns = value.map(toPattern);
  return {
    size: patterns.length,
    has(address) {
      if (!URL.canParse(address)) return false;
      const { origin, username, password } = new URL(address);
      return username + password === "" && patterns.some((pattern) => pattern.test(origin));
    },
  };
}

export const EXAMPLE = 'as in ["https://*.preview.example"]';

/** Wildcards are left of the last two labels: who owns a domain decides who has the names below it. */
const WITH_WILDCARDS = /^https?:\/\/(?:(?=[^.])[a-z0-9_-]*\*?[a-z0-9_-]*\.)+[a-z0-9-]+\.[a-z0-9-]+(?::\d+)?$/;

/** What stands for a wildcard while the address is parsed. */
const ANY_LABEL = "fastify-authjs-wildcard";

function toPattern(value: unknown): RegExp {
  const text = typeof value === "string" ? value.trim().toLowerCase().replace(/\/$/, "") : "";
  const hasWildcards = text.includes("*");
  const address = text.replaceAll("*", ANY_LABEL);
  const origin = originOf(address);
  const isAllowed = hasWildcards ? WITH_WILDCARDS.test(text) : /^https?:\/\//.test(text);
  if (!isAllowed || origin === undefined || new URL(address).href !== `${origin}/`) {
    throw invalidConfig(
      `\`redirectProxyOrigins\` cannot contain ${JSON.stringify(value)}: write scheme, host and port without a path, ` +
        `${EXAMPLE}. A \`*\` stands for letters, digits and hyphens of one label, left of the last two.`,
    );
  }
  const escaped = origin.replaceAll(/[.[\]]/g, "\\$&");
  return new RegExp(`^${hasWildcards ? escaped.replaceAll(ANY_LABEL, "[a-z0-9_-]{1,63}") : escaped}$`);
}

/** Whether a deployment at this origin takes the callbacks of others. */
export function isRedirectProxy({ redirectProxyUrl }: ProviderSummary, { href }: PublicOrigin): boolean {
  return redirectProxyUrl !== undefined && originOf(redirectProxyUrl) === href;
}

export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
