/** The callbacks that a stable deployment takes for others, whose addresses change (`redirectProxyUrl`). */
import { isRedirectProxy } from "../../config/redirect_proxy.ts";
import { type Answer, redirectAnswer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { decode } from "../../jwt/codec.ts";
import { toLogText } from "../../provider/provider_error.ts";

/** What core seals the `state` of an authorization request for (0.41.3). */
const STATE_SALT = "encodedState";

/**
 * Hands a callback on to the deployment that its `state` names. Core would redirect with the code to any
 * address there, and one that follows the Host header puts into it what a client says.
 *
 * @returns The answer, or why there is none; neither if this deployment itself is meant.
 */
export async function handOn(
  { provider, origin, config, settings }: ProviderContext,
  parameters: Readonly<Record<string, unknown>>,
): Promise<{ readonly answer?: Answer; readonly problem?: string }> {
  const { state } = parameters;
  if (!isRedirectProxy(provider, origin) || typeof state !== "string") return {};
  const { secret } = settings.jwt;
  const opened = await decode({ token: state, secret, salt: STATE_SALT }).catch(() => null);
  if (!opened) return { problem: `The callback of "${provider.id}" has a \`state\` that is none of ours.` };
  const { origin: address } = opened;
  if (typeof address !== "string" || !URL.canParse(address)) return {};
  const target = new URL(address);
  if (target.origin === origin.href) return {};
  if (!config.redirectProxyOrigins.has(address)) {
    return {
      problem:
        `The callback of "${provider.id}" is for a deployment at ${toLogText(target.origin)}, which is not ` +
        "in `redirectProxyOrigins`, so it does not get the code.",
    };
  }
  target.search = new URLSearchParams(parameters as Record<string, string>).toString();
  return { answer: redirectAnswer(target.href) };
}
