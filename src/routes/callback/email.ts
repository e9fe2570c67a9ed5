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
    viewOf: (adapter) => findingOlderTokens(adapter, token, secrets),
  });
}

/** The adapter as it finds a token also where it was mailed before the secret was rotated. */
function findingOlderTokens(adapter: Adapter, token: string, { current, others }: HashSecrets): Adapter {
  if (others.length === 0) return adapter;
  const useVerificationToken: Adapter["useVerificationToken"] = async (sought) => {
    const found = await adapter.useVerificationToken!(sought);
    // A provider may have a secret of its own.
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
 * The query of a sign-in link with a token in it, if need be one that nobody was mailed: a link that was cut is as
 * invalid as one that expired, where core takes it for a mistake in the configuration.
 */
function withToken(query: string): string {
  const parameters = new URLSearchParams(query);
  if (parameters.get("token")) return query;
  parameters.set("token", "none");
  return parameters.toString();
}
