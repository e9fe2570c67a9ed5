/**
 * A sign-in with a provider that follows a script.
 *
 * @module
 */
import type { FastifyAuthConfig } from "fastify-authjs";
import type { Answer, Client } from "./client.ts";
import { locationOf, type OAuthApp, oauthApp, pathOf, type ProviderSettings, startSignIn } from "./oauth_client.ts";
import { PATHS, type Script, ScriptedProvider } from "./scripted_provider.ts";

/** Every check that a callback can have. */
export const ALL_CHECKS = ["state", "pkce", "nonce"];

/** What a test works with. */
export interface ScriptedParts extends OAuthApp {
  readonly provider: ScriptedProvider;
  /** A browser. */
  readonly client: Client;
}

/**
 * Runs a test with a provider, an application that knows it by its issuer and a browser; all are ended afterwards.
 *
 * @param settings Further settings of the provider, which may depend on its issuer.
 * @param overrides Further settings of the application.
 */
export async function withProvider(
  script: Script,
  run: (parts: ScriptedParts) => Promise<void>,
  settings: ProviderSettings | ((issuer: string) => ProviderSettings) = {},
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  await using provider = await ScriptedProvider.start(script);
  const { issuer } = provider;
  const own = typeof settings === "function" ? settings(issuer) : settings;
  const parts = await oauthApp({ issuer, checks: ALL_CHECKS, ...own }, overrides);
  await using _app = parts.app;
  await run({ ...parts, provider, client: parts.browser() });
}

/** The settings of an OAuth provider without an issuer. */
export function oauthSettings(issuer: string): ProviderSettings {
  return {
    type: "oauth",
    issuer: undefined,
    checks: ["state", "pkce"],
    authorization: { url: `${issuer}/authorize`, params: { scope: "profile" } },
    token: `${issuer}${PATHS.token}`,
    userinfo: `${issuer}${PATHS.userinfo}`,
  };
}

/**
 * A sign-in up to the answer of the callback.
 *
 * @param parameters What the provider sends the browser back with, besides code and state; an empty one is left out.
 */
export async function signInThrough(
  client: Client,
  provider: ScriptedProvider,
  parameters: Record<string, string> = {},
): Promise<Answer> {
  const url = new URL(provider.authorize(locationOf(await startSignIn(client)), parameters));
  for (const [name, value] of [...url.searchParams]) if (value === "") url.searchParams.delete(name);
  return await client.get(pathOf(url.href));
}
