/** Limits for everything that a provider's configuration does over the network. */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { later } from "../utils/later.ts";
import type { Fetch, ProviderLimits } from "./fetch.ts";
import { factoryIdOf, type Settings } from "./settings.ts";
import { waitForProvider } from "./provider_unavailable.ts";

/** How long a request to a provider may take by default, in milliseconds. */
export const DEFAULT_PROVIDER_TIMEOUT = 10_000;

/**
 * Limits the provider's `fetch`, and sets a deadline for those of its functions that may send requests by
 * themselves: many built-in providers use the global `fetch` in `userinfo.request` or `profile`.
 */
export function limitRequests(provider: Provider, limits: ProviderLimits): Provider {
  const settings = provider as unknown as Settings;
  const id = String(settings.id);
  let limited = settings;
  for (const name of ["profile", "sendVerificationRequest"]) {
    limited = withDeadline(limited, name, id, limits);
  }
  for (const [endpoint, name] of [["token", "conform"], ["userinfo", "request"]] as const) {
    const details = settings[endpoint];
    if (typeof details !== "object" || details === null) continue;
    limited = { ...limited, [endpoint]: withDeadline(details as Settings, name, id, limits) };
  }
  if (settings.type !== "oauth" && settings.type !== "oidc") return limited as unknown as Provider;
  const send = settings[customFetch] as Fetch | undefined ?? ((...args: Parameters<Fetch>) => fetch(...args));
  const configured = {
    issuer: textOf(settings.issuer),
    wellKnown: textOf(settings.wellKnown),
    factoryId: factoryIdOf(settings),
    conforms: typeof (settings.token as Settings | undefined)?.conform === "function",
  };
  // Loaded with the first request: it makes responses, for which Node loads all of its `fetch`.
  const limitedFetch = later(async () => {
    const { limitedFetch } = await import("./fetch.ts");
    return limitedFetch(id, send, limits, configured);
  });
  return { ...limited, [customFetch]: limitedFetch } as unknown as Provider;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A copy in which the named function, if there is one, has a deadline. */
function withDeadline(part: Settings, name: string, provider: string, { timeout }: ProviderLimits): Settings {
  const own = part[name];
  if (typeof own !== "function") return part;
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
