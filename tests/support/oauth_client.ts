/**
 * An application with one provider, and a browser on its way through a sign-in.
 *
 * @module
 */
import type { FastifyInstance, FastifyServerOptions } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { captureLog, type LogLine, testApp, testConfig } from "./app.ts";
import { type Answer, Client, setCookies } from "./client.ts";

/** The settings of a provider, as an application writes them. */
export type ProviderSettings = Record<PropertyKey, unknown>;

/** The settings of a client of an OpenID Provider, besides its issuer. */
export const OPENID_CLIENT = {
  id: "op",
  name: "OP",
  type: "oidc",
  clientId: "client",
  clientSecret: "secret",
} as const;

/** An application that signs in with one provider. */
export interface OAuthApp {
  readonly app: FastifyInstance;
  /** What it logged. */
  readonly lines: LogLine[];
  /** A new browser. */
  browser(headers?: Record<string, string>): Client;
}

/** Starts it; the provider's id is `op` unless its settings have another. */
export async function oauthApp(
  provider: ProviderSettings,
  overrides: Partial<FastifyAuthConfig> = {},
  options: FastifyServerOptions = {},
): Promise<OAuthApp> {
  const { logger, lines } = captureLog();
  const settings = { ...OPENID_CLIENT, ...provider } as unknown as FastifyAuthConfig["providers"][number];
  const app = await testApp(testConfig({ providers: [settings], ...overrides }), { logger, ...options });
  return { app, lines, browser: (headers = {}) => new Client(app, headers) };
}

/** Starts a sign-in: the answer, which sends the browser to the provider. */
export async function startSignIn(
  browser: Client,
  provider = "op",
  form: Record<string, string> = {},
): Promise<Answer> {
  const csrfToken = await browser.csrfToken();
  return await browser.post(`/auth/signin/${provider}`, { csrfToken, ...form });
}

/** Where a redirect leads. */
export function locationOf(answer: Answer): string {
  return String(answer.headers.location ?? `no redirect: ${answer.statusCode} ${answer.body.slice(0, 200)}`);
}

/** The path and query of an address on the application, as `inject` wants it. */
export function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

/** The name of the signed-in user. */
export async function signedInName(browser: Client): Promise<string | undefined> {
  const { session } = (await browser.get("/me")).json<{ session: { user?: { name?: string } } | null }>();
  return session === null ? undefined : session.user?.name ?? "";
}

/** The names of the cookies that an answer removes. */
export function clearedCookies(answer: Answer): string[] {
  return setCookies(answer).filter((line) => /;\s*max-age=0(?:;|$)/i.test(line))
    .map((line) => line.slice(0, line.indexOf("="))).sort();
}

/** The messages of an error and its causes, as they were logged. */
export function reasons(lines: readonly LogLine[]): string {
  type Logged = { type: string; message: string; cause?: Logged };
  const texts: string[] = [];
  for (const { authjs } of lines as unknown as { authjs?: Logged }[]) {
    for (let error = authjs; error !== undefined; error = error.cause) {
      texts.push(`${error.type}: ${error.message}`);
    }
  }
  return texts.join("\n");
}
