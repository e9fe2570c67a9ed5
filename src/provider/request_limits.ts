/** Limits for everything that a provider's configuration does over the network. */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { later } from "../utils/later.ts";
import type { Fetch, ProviderLimits } from "./fetch.ts";
import { waitForProvider } from "./provider_unavailable.ts";

/** How long a request to a provider may take by default, in milliseconds. */
export const DEFAULT_PROVIDER_TIMEOUT = 10_000;

type Part = Record<PropertyKey, unknown>;

/**
 * Limits the provider's `fetch`, and sets a deadline for those of its functions that may send requests by
 * themselves: many built-in providers use the global `fetch` in `userinfo.request` or `profile`.
 */
export function limitRequests(provider: Provider, limits: ProviderLimits): Provider {
  const { options, ...own } = provider as unknown as Part & { options?: Part; id: string; type: string };
  const id = String(options?.id ?? own.id);
  const limited: Part = {
    ...withDeadlines(own, id, limits.timeout),
    ...(options && { options: withDeadlines(options, id, limits.timeout) }),
  };
  if (own.type === "oauth" || own.type === "oidc") {
    // As in core, the provider's own comes before the application's.
    const inner = own[customFetch] ?? options?.[customFetch] ??
      ((...args: Parameters<Fetch>) => fetch(...args));
    const configured = {
      issuer: textOf(options?.issuer ?? own.issuer),
      wellKnown: textOf(options?.wellKnown ?? own.wellKnown),
      factoryId: String(own.id),
      conforms: [own, options].some((part) => isFunction((part?.token as Part | undefined)?.conform)),
    };
    // Loaded with the first request: it makes responses, for which Node loads all of its `fetch`.
    limited[customFetch] = later(async () => {
      const { limitedFetch } = await import("./fetch.ts");
      return limitedFetch(id, inner as Fetch, limits, configured);
    });
  }
  return limited as unknown as Provider;
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function withDeadlines(part: Part, id: string, timeout: number): Part {
  const withProfile = withDeadline(part, "profile", id, timeout);
  const limited = withDeadline(withProfile, "sendVerificationRequest", id, timeout);
  for (const [endpoint, name] of [["token", "conform"], ["userinfo", "request"]] as const) {
    const details = part[endpoint];
    if (typeof details !== "object" || details === null) continue;
    limited[endpoint] = withDeadline(details as Part, name, id, timeout);
  }
  return limited;
}

/** A copy in which the named function, if there is one, has a deadline. */
function withDeadline(part: Part, name: string, provider: string, timeout: number): Part {
  const own = part[name];
  if (typeof own !== "function") return { ...part };
  const wait = {
    provider,
    timeout,
    unreachable: `${name}() of "${provider}" could not reach what it asks.`,
    broken: `What ${name}() of "${provider}" asks broke off its answer.`,
    late: `"${provider}" was not done with ${name}() in ${timeout} ms.`,
  };
  return {
    ...part,
    [name](this: unknown, ...args: unknown[]) {
      return waitForProvider((async () => await own.apply(this, args))(), wait);
    },
  };
}
