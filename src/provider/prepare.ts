/** Prepares a configured provider for core, in steps, each of which leaves providers of other types as they are. */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { later } from "../utils/later.ts";
import { prepareEmailProvider } from "./email.ts";
import { type MailSettings, writeEmails } from "./email_message.ts";
import type { Fetch, ProviderLimits } from "./fetch.ts";
import { toOpenIdClient } from "./openid_client.ts";
import { waitForProvider } from "./provider_error.ts";
import { applyOptions, type Environment, type Settings } from "./settings.ts";
import type { SigningKeys } from "./signing_keys.ts";
import type { TokenEndpointHandler } from "./types.ts";
import { completeFromUserinfo } from "./userinfo.ts";
import { prepareWebAuthnProvider } from "./webauthn/provider.ts";
import { applyWorkarounds, withoutRepeatedPath } from "./workarounds.ts";

export const DEFAULT_PROVIDER_TIMEOUT = 10_000;

interface PrepareOptions extends ProviderLimits {
  readonly env: Environment;
  readonly mail: MailSettings;
  /** If ID tokens are verified: `required` says whether a provider that publishes no keys is refused. */
  readonly idTokens: { readonly keys: () => Promise<SigningKeys>; readonly required: boolean } | undefined;
}

/** @param provider A copy, completed from the environment. */
export function prepareProvider(provider: Provider, options: PrepareOptions): Provider {
  let prepared = prepareWebAuthnProvider(provider);
  // Before whatever reads the discovery document.
  prepared = withoutRepeatedPath(prepared);
  // These replace what core's factory set; the steps after the options, what counts in the end.
  prepared = applyWorkarounds(prepared);
  prepared = applyOptions(prepared);
  // Both before the limits, which apply to their requests, too.
  prepared = completeFromUserinfo(prepared);
  prepared = writeEmails(prepared, options.mail);
  // After the workarounds, which may send requests.
  prepared = limitRequests(prepared, options);
  // After the limits, which apply to the requests for keys, and after whatever corrects a response.
  prepared = verifyIdTokens(prepared, options.idTokens);
  // Last, so that it sees a sender's timeout.
  return prepareEmailProvider(prepared, options.env);
}

/** Many built-in providers use the global `fetch` in `userinfo.request` or `profile`, so these have a deadline, too. */
function limitRequests(provider: Provider, limits: ProviderLimits): Provider {
  const settings = provider as unknown as Settings;
  const id = String(settings.id);
  let limited = settings;
  for (const name of ["profile", "sendVerificationRequest"]) limited = withDeadline(limited, name, id, limits);
  for (const [endpoint, name] of [["token", "conform"], ["userinfo", "request"]] as const) {
    const details = settings[endpoint];
    if (typeof details !== "object" || details === null) continue;
    limited = { ...limited, [endpoint]: withDeadline(details as Settings, name, id, limits) };
  }
  if (settings.type !== "oauth" && settings.type !== "oidc") return limited as unknown as Provider;
  const send = settings[customFetch] as Fetch | undefined ?? ((...args: Parameters<Fetch>) => fetch(...args));
  // Loaded with the first request: it makes responses, for which Node loads all of its `fetch`.
  const limitedFetch = later(async () => {
    const { limitedFetch } = await import("./fetch.ts");
    return limitedFetch(id, send, limits, settings);
  });
  return { ...limited, [customFetch]: limitedFetch } as unknown as Provider;
}

/** A copy in which the named function, if there is one, has a deadline. */
function withDeadline(part: Settings, name: string, provider: string, { timeout }: ProviderLimits): Settings {
  const own = part[name];
  if (typeof own !== "function") return part;
  const messages = {
    unreachable: `${name}() of "${provider}" could not reach what it asks.`,
    broken: `What ${name}() of "${provider}" asks broke off its answer.`,
    late: `"${provider}" was not done with ${name}() in ${timeout} ms.`,
  };
  return {
    ...part,
    [name](this: unknown, ...args: unknown[]) {
      return waitForProvider((async () => await own.apply(this, args))(), provider, timeout, messages);
    },
  };
}

/** The key of the `conform` that the token endpoint had before. */
const UNVERIFIED = Symbol("conform without verifying");

export type TokenEndpoint = Omit<TokenEndpointHandler, "request" | "url"> & { readonly url?: string | URL };

const verifiedResponse = later(async () => (await import("./id_token.ts")).verifiedResponse);

/** Makes `token.conform` verify the ID token in what core gets for a code: core calls it last. */
function verifyIdTokens(provider: Provider, verification: PrepareOptions["idTokens"]): Provider {
  const { type, token } = provider as { readonly type: string; readonly token?: string | TokenEndpoint | null };
  if (verification === undefined || type !== "oidc") return provider;
  const { keys, required } = verification;
  const client = toOpenIdClient(provider);
  const endpoint: TokenEndpoint = typeof token === "string" ? { url: token } : token ?? {};
  const { conform } = endpoint;
  const verified = async (response: Response) =>
    await verifiedResponse(await conform?.(response.clone()) ?? response, client, await keys(), required);
  return { ...provider, token: { ...endpoint, [UNVERIFIED]: conform, conform: verified } } as unknown as Provider;
}

/** The `conform` for a refresh, whose ID token nothing reads: a new refresh token must not be lost over it. */
export function unverifiedConform(endpoint: TokenEndpoint): TokenEndpoint["conform"] {
  return UNVERIFIED in endpoint ? endpoint[UNVERIFIED] as TokenEndpoint["conform"] : endpoint.conform;
}
