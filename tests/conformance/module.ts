/** How a module of the conformance suite goes: what the provider does, and what the suite says of it. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { memoryStore } from "fastify-authjs";
import type { Answer } from "../support/client.ts";
import { CLIENT, ConformanceProvider, type Script } from "../support/conformance_provider.ts";
import {
  locationOf,
  type OAuthApp,
  oauthApp,
  pathOf,
  reasons,
  signedInName,
  startSignIn,
} from "../support/oauth_client.ts";

/** What comes of a module that does not fail. The suite skips what a client need not support. */
export type Outcome = "passed" | "skipped";

/** One module. */
export interface Module {
  /** Its `testName` in the suite. */
  readonly name: string;
  /** What it is about, for the table of docs/security.md. */
  readonly about: string;
  /** What comes of it here. */
  readonly outcome: Outcome;
  readonly script?: Script;
  /** Plays it to its end. */
  readonly play: (run: Run) => Promise<Outcome>;
}

/** A plan of the suite. */
export interface Plan {
  /** Its `testPlanName`. */
  readonly name: string;
  /** The certification profile that it stands for. */
  readonly profile: string;
  readonly modules: readonly Module[];
  readonly formPost?: boolean;
  /** Whether the application has the two options for signing out with a provider. */
  readonly signsOut?: boolean;
}

/** A module under way. */
export interface Run extends OAuthApp {
  readonly provider: ConformanceProvider;
  readonly client: ReturnType<OAuthApp["browser"]>;
}

/** Runs a module with an application as it is by default. */
export async function runModule({ script, play }: Module, { formPost, signsOut }: Plan): Promise<Outcome> {
  await using provider = await ConformanceProvider.start(script);
  const { id: clientId, secret: clientSecret } = CLIENT;
  const parts = await oauthApp(
    {
      issuer: provider.issuer,
      clientId,
      clientSecret,
      ...(formPost && { authorization: { params: { response_mode: "form_post" } } }),
    },
    signsOut ? { providerLogout: { backchannel: true }, store: memoryStore(), revocable: true } : {},
  );
  await using _app = parts.app;
  const outcome = await play({ ...parts, provider, client: parts.browser() });
  assertEquals(provider.complaints, []);
  return outcome;
}

/** A sign-in, up to the answer of the callback, or to where the client gives up. */
export async function signIn({ client, provider }: Run): Promise<Answer> {
  const started = await startSignIn(client);
  const location = locationOf(started);
  if (!location.startsWith(provider.issuer)) return started;
  const { url, form } = await provider.authorize(new URL(location));
  return form === undefined ? await client.get(pathOf(url)) : await client.post(pathOf(url), form);
}

/** The client has to sign the user in, and to ask for claims with the access token. */
export async function accepts(run: Run): Promise<Outcome> {
  await signIn(run);
  assertEquals(await signedInName(run.client), "Ada Lovelace", reasons(run.lines));
  assertEquals(run.provider.asked.at(-1), "userinfo");
  return "passed";
}

/** The client has to refuse what it got, before it uses the access token. */
export async function refuses(run: Run): Promise<Outcome> {
  const answer = await signIn(run);
  assertEquals(locationOf(answer), "http://localhost/auth/error?error=Configuration");
  assertEquals(await signedInName(run.client), undefined);
  assert(!run.provider.asked.includes("userinfo"));
  return "passed";
}

/** A sign-out that goes through the provider, which sends its logout token meanwhile. */
export async function signOut(run: Run): Promise<{ readonly logout: Answer; readonly back: Answer }> {
  const { app, client, provider } = run;
  await accepts(run);
  const left = locationOf(await client.signOut());
  assert(left.startsWith(`${provider.issuer}end_session_endpoint?`), left);
  const address = await provider.endSession(new URL(left));
  const logout = await app.inject({
    method: "POST",
    url: pathOf(CLIENT.backchannelLogoutUri),
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: new URLSearchParams({ logout_token: provider.logoutToken!, ignored_parameter: "x" }).toString(),
  });
  assertMatch(String(logout.headers["cache-control"]), /\bno-store\b/);
  const back = await client.get(pathOf(address));
  assert(back.statusCode < 400, `${back.statusCode}`);
  assertEquals(await signedInName(client), undefined);
  return { logout, back };
}
