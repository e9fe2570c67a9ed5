/**
 * A provider whose every request is bounded.
 *
 * @module
 */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { withDeadline } from "../utils/deadline.ts";
import { type Fetch, limitedFetch, type ProviderLimits } from "./fetch.ts";
import { isUnreachable, ProviderUnavailable } from "./provider_unavailable.ts";

/** How long a request to a provider may take, in milliseconds, unless the configuration says otherwise. */
export const DEFAULT_PROVIDER_TIMEOUT = 10_000;

type Part = Record<PropertyKey, unknown>;

/**
 * The provider with its `fetch` bounded, and with a deadline on those of its functions that may send requests by
 * themselves: many built-in providers use the global `fetch` in `userinfo.request` or `profile`, and mail goes out in
 * `sendVerificationRequest`.
 *
 * @param provider A provider that is ours to change.
 * @param limits How long and how safe.
 */
export function limitRequests(provider: Provider, limits: ProviderLimits): Provider {
  const { options, ...own } = provider as unknown as Part & { options?: Part; id: string; type: string };
  const id = String(options?.id ?? own.id);
  const bounded: Part = {
    ...withDeadlines(own, id, limits.timeout),
    ...(options && { options: withDeadlines(options, id, limits.timeout) }),
  };
  if (own.type === "oauth" || own.type === "oidc") {
    // The provider's own comes before the application's, as in core.
    const inner = own[customFetch] ?? options?.[customFetch] ??
      ((...args: Parameters<Fetch>) => fetch(...args));
    bounded[customFetch] = limitedFetch(id, inner as Fetch, limits);
  }
  return bounded as unknown as Provider;
}

function withDeadlines(part: Part, id: string, timeout: number): Part {
  const bounded = bindFunctions(part, ["profile", "sendVerificationRequest"], id, timeout);
  for (const [endpoint, name] of [["token", "conform"], ["userinfo", "request"]] as const) {
    const details = part[endpoint];
    if (typeof details !== "object" || details === null) continue;
    bounded[endpoint] = bindFunctions(details as Part, [name], id, timeout);
  }
  return bounded;
}

function bindFunctions(part: Part, names: readonly string[], id: string, timeout: number): Part {
  const bounded = { ...part };
  for (const name of names) {
    const own = part[name];
    if (typeof own !== "function") continue;
    bounded[name] = function (this: unknown, ...args: unknown[]) {
      return withDeadline(
        (async () => await own.apply(this, args))().catch((error) => {
          if (!isUnreachable(error)) throw error;
          throw new ProviderUnavailable(id, `${name}() of "${id}" could not reach what it asks.`, error);
        }),
        timeout,
        () => new ProviderUnavailable(id, `"${id}" was not done with ${name}() in ${timeout} ms.`),
      );
    };
  }
  return bounded;
}
