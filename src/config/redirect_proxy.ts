/** To which deployments a redirect proxy hands callbacks on. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { ProviderSummary } from "../provider/summary.ts";

/** A list of origins that may have wildcards. */
export interface AllowedOrigins {
  readonly size: number;
  /** Whether an address is on one of them. */
  has(address: string): boolean;
}

/**
 * The `redirectProxyOrigins` of a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not an array of origins.
 */
export function redirectProxyOrigins(value: unknown = []): AllowedOrigins {
  if (!Array.isArray(value)) {
    throw invalid(`\`redirectProxyOrigins\` must be an array of origins, ${EXAMPLE}.`);
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

const EXAMPLE = 'as in ["https://*.preview.example"]';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

function toPattern(value: unknown): RegExp {
  const text = typeof value === "string" ? value.trim().toLowerCase().replace(/\/$/, "") : "";
  const source = text.includes("*") ? withWildcards(text) : originOf(text);
  if (source === undefined) {
    throw invalid(
      `\`redirectProxyOrigins\` cannot contain ${
        JSON.stringify(value)
      }: write scheme, host and port without a ` +
        `path, ${EXAMPLE}. A \`*\` stands for letters, digits and hyphens of one label, left of the last two.`,
    );
  }
  const escaped = source.replaceAll(/[.[\]]/g, "\\$&").replaceAll("*", "[a-z0-9_-]{1,63}");
  return new RegExp(`^${escaped}$`);
}

function originOf(text: string): string | undefined {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return undefined;
  const { href, origin } = new URL(text);
  return href === `${origin}/` ? origin : undefined;
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

/** The redirect proxy's address becomes part of every callback URL, so it has to be a URL. */
export function redirectProxyProblem(
  { redirectProxyUrl }: AuthConfig,
  providers: readonly ProviderSummary[],
  origin: PublicOrigin | undefined,
  allowed: AllowedOrigins,
): FastifyAuthError | undefined {
  if (redirectProxyUrl !== undefined && !/^https?:\/\//i.test(addressOf(redirectProxyUrl) ?? "")) {
    return invalid(
      "`redirectProxyUrl` (or AUTH_REDIRECT_PROXY_URL) must be the full address of the auth routes of the " +
        "stable deployment, such as https://app.example/auth.",
    );
  }
  const proxied = providers.some((provider) => origin !== undefined && isRedirectProxy(provider, origin));
  if (!proxied || allowed.size > 0) return;
  return invalid(
    `This is the stable deployment of \`redirectProxyUrl\` (or AUTH_REDIRECT_PROXY_URL), ${
      origin!.href
    }, and ` +
      "nothing says which deployments it sends the codes of their sign-ins to: list their origins in " +
      `\`redirectProxyOrigins\`, ${EXAMPLE}, or leave \`redirectProxyUrl\` out.`,
  );
}

/** Whether a deployment at this origin takes the callbacks of others. */
export function isRedirectProxy({ redirectProxyUrl }: ProviderSummary, { href }: PublicOrigin): boolean {
  return redirectProxyUrl !== undefined && addressOf(redirectProxyUrl) === href;
}

function addressOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Without a configured origin it is only known with a request whether this is the stable deployment. */
export function redirectProxyWarnings(
  providers: readonly ProviderSummary[],
  origin: PublicOrigin | undefined,
  allowed: AllowedOrigins,
): string[] {
  const isUsed = providers.some(({ redirectProxyUrl }) => redirectProxyUrl !== undefined);
  if (!isUsed || origin !== undefined || allowed.size > 0) return [];
  return [
    "`redirectProxyUrl` (or AUTH_REDIRECT_PROXY_URL) is set without `redirectProxyOrigins`: at that address, " +
    `sign-ins of other deployments are refused. List their origins there, ${EXAMPLE}.`,
  ];
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message);
}
