/**
 * The callback of an e-mail provider: the link that was mailed.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import type { Answer } from "../../core/answer.ts";
import { callCore } from "../../core/auth.ts";
import type { ProviderContext } from "../../core/context.ts";
import { type HashSecrets, hashSecrets, hashToken } from "../../core/secrets.ts";

/** Answers a sign-in link. */
export function handleEmailCallback(context: ProviderContext): Promise<Answer> {
  const query = withToken(context.query);
  const token = new URLSearchParams(query).get("token")!;
  const secrets = hashSecrets(context.config.core.secret);
  return callCore({ ...context, query }, {
    wrapAdapter: (adapter) => acceptOlderTokens(adapter, token, secrets),
  });
}

/** The adapter, which also finds tokens that were mailed before the secret was rotated. */
function acceptOlderTokens(adapter: Adapter, token: string, { current, others }: HashSecrets): Adapter {
  if (others.length === 0) return adapter;
  const useVerificationToken: Adapter["useVerificationToken"] = async (sought) => {
    const found = await adapter.useVerificationToken!(sought);
    // A provider with a secret of its own is not rotated.
    if (found || sought.token !== hashToken(token, current)) return found;
    for (const secret of others) {
      const older = await adapter.useVerificationToken!({ ...sought, token: hashToken(token, secret) });
      if (older) return older;
    }
    return null;
  };
  return { ...adapter, useVerificationToken };
}

/**
 * The query of a sign-in link, with an invalid token where there is none: for a link without a token core
 * would report a mistake in the configuration.
 */
function withToken(query: string): string {
  const parameters = new URLSearchParams(query);
  if (parameters.get("token")) return query;
  parameters.set("token", "none");
  return parameters.toString();
}
