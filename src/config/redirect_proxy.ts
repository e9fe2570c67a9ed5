/** To which deployments a redirect proxy hands callbacks on. */
import { invalidConfig } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { ProviderSummary } from "../provider/summary.ts";

/** A list of origins that may have wildcards. */
export interface AllowedOrigins {
  readonly size: number;
  has(address: string): boolean;
}

/**
 * The `redirectProxyOrigins` of a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not an array of origins.
 */
export function redirectProxyOrigins(value: unknown = []): AllowedOrigins {
  if (!Array.isArray(value)) {
    throw invalidConfig(`\`redirectProxyOrigins\` must be an array of origins, ${EXAMPLE}.`);
  }
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

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

function toPattern(value: unknown): RegExp {
  const text = typeof value === "string" ? value.trim().toLowerCase().replace(/\/$/, "") : "";
  const source = text.includes("*") ? withWildcards(text) : withoutWildcards(text);
  if (source === undefined) {
    throw invalidConfig(
      `\`redirectProxyOrigins\` cannot contain ${JSON.stringify(value)}: write scheme, host and port ` +
        `without a path, ${EXAMPLE}. A \`*\` stands for letters, digits and hyphens of one label, left of the ` +
        "last two.",
    );
  }
  const escaped = source.replaceAll(/[.[\]]/g, "\\$&").replaceAll("*", "[a-z0-9_-]{1,63}");
  return new RegExp(`^${escaped}$`);
}

function withoutWildcards(text: string): string | undefined {
  const origin = /^https?:\/\//.test(text) ? originOf(text) : undefined;
  return origin !== undefined && new URL(text).href === `${origin}/` ? origin : undefined;
}

/** The last two labels are of a domain whose owner decides who has the names below it. */
function withWildcards(text: string): string | undefined {
  const [, scheme = "", host = "", port] = /^(https?:)\/\/([^/:]+)(?::(\d+))?$/.exec(text) ?? [];
  const labels = host.split(".");
  const [names, domain] = [labels.slice(0, -2), labels.slice(-2)];
  const isValid = names.every((label) => /^[a-z0-9_-]*\*?[a-z0-9_-]*$/.test(label) && label !== "") &&
    domain.every((label) => /^[a-z0-9-]+$/.test(label));
  if (!isValid) return undefined;
  return `${scheme}//${host}${port === undefined || port === DEFAULT_PORTS[scheme] ? "" : `:${port}`}`;
}

/** Whether a deployment at this origin takes the callbacks of others. */
export function isRedirectProxy({ redirectProxyUrl }: ProviderSummary, { href }: PublicOrigin): boolean {
  return redirectProxyUrl !== undefined && originOf(redirectProxyUrl) === href;
}

export function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
