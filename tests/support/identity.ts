/**
 * An OAuth provider without a network: the code of a callback is the profile of the user.
 *
 * @module
 */
import type { FastifyInstance } from "fastify";
import { customFetch } from "fastify-authjs";
import { type Answer, Client } from "./client.ts";

/** What the provider tells of a person. */
export interface Person {
  id: string;
  name?: string;
  email?: string;
}

const ENDPOINTS = "https://identity.invalid";

/** Makes the provider. */
export function identityProvider(id: string, options: Record<string, unknown> = {}) {
  return {
    id,
    name: id,
    type: "oauth" as const,
    clientId: "client",
    clientSecret: "client-secret",
    authorization: `${ENDPOINTS}/authorize`,
    token: `${ENDPOINTS}/token`,
    userinfo: `${ENDPOINTS}/userinfo`,
    checks: ["pkce" as const, "state" as const],
    profile: (profile: Person) => profile,
    [customFetch]: respond,
    ...options,
  };
}

/** The code is the access token, and the access token is the profile. */
async function respond(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  if (request.url === `${ENDPOINTS}/token`) {
    const code = new URLSearchParams(await request.text()).get("code");
    return Response.json({ access_token: code, token_type: "bearer", scope: "profile" });
  }
  const [, profile = ""] = request.headers.get("authorization")!.split(" ");
  return Response.json(JSON.parse(decodeURIComponent(profile)));
}

/** The code, and so the access token, that stands for a person. */
export function codeFor(person: Person): string {
  return encodeURIComponent(JSON.stringify(person));
}

/** Goes through the whole sign-in; gives the answer to the callback. */
export async function signInAs(client: Client, provider: string, person: Person): Promise<Answer> {
  const csrfToken = await client.csrfToken();
  const started = await client.post(`/auth/signin/${provider}`, { csrfToken });
  const state = new URL(String(started.headers.location)).searchParams.get("state")!;
  const query = new URLSearchParams({ code: codeFor(person), state });
  return await client.get(`/auth/callback/${provider}?${query}`);
}

/** A browser with a signed-in user. */
export async function signedIn(app: FastifyInstance, provider: string, person: Person): Promise<Client> {
  const client = new Client(app);
  await signInAs(client, provider, person);
  return client;
}
