/**
 * An application whose `jwt` callback refreshes the provider's access token, as Auth.js's guide to token rotation has it.
 *
 * @module
 */
import type { FastifyAuthConfig } from "fastify-authjs";

/** What the callback keeps in the token. */
export interface ProviderTokens {
  access_token: string;
  refresh_token: string;
  /** In seconds. */
  expires_at: number;
}

const seconds = () => Math.floor(Date.now() / 1000);

/**
 * Callbacks that refresh an expired access token at the provider, and show what came of it in the session.
 *
 * @param issuer The provider.
 * @param onRefresh Is told of each request to the token endpoint, and may hold it up.
 */
export function refreshingCallbacks(
  { issuer, client, secret, onRefresh = () => {} }: {
    issuer: string;
    client: string;
    secret: string;
    onRefresh?: () => void | Promise<void>;
  },
): NonNullable<FastifyAuthConfig["callbacks"]> {
  return {
    async jwt({ token, account }) {
      // Expired when it comes, so that the next read refreshes it.
      if (account) {
        const { access_token, refresh_token } = account as unknown as ProviderTokens;
        return { ...token, access_token, refresh_token, expires_at: 0 };
      }
      if (Number(token.expires_at) > seconds()) return token;
      await onRefresh();
      const response = await fetch(`${issuer}/token`, {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "refresh_token",
          refresh_token: String(token.refresh_token),
          client_id: client,
          client_secret: secret,
        }),
      });
      const answer = await response.json();
      if (!response.ok) return { ...token, error: answer.error };
      const { access_token, refresh_token, expires_in } = answer;
      return { ...token, access_token, refresh_token, expires_at: seconds() + expires_in };
    },
    session({ session, token }) {
      return { ...session, accessToken: token.access_token, error: token.error };
    },
  };
}
