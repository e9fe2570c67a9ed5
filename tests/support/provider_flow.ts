/**
 * A whole sign-in with a provider, from the button to the session.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { attemptsOf } from "./attempts.ts";
import { CLIENT, type ProviderSample } from "./provider_sample.ts";
import type { Kind, StandIn } from "./provider_standin.ts";

/** Where the application is. */
export const ORIGIN = "https://app.example";

/** What answers requests: the application, or core alone. */
export type Handler = (request: Request) => Promise<Response>;

/** The application as a handler. */
export function through(app: FastifyInstance): Handler {
  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const payload = await request.text();
    const answer = await app.inject({
      method: request.method as "GET",
      url: pathname + search,
      headers: { host: new URL(ORIGIN).host, ...Object.fromEntries(request.headers) },
      ...(payload !== "" && { payload }),
    });
    const headers = new Headers();
    for (const [name, value] of Object.entries(answer.headers)) {
      for (const line of [value ?? []].flat()) headers.append(name, String(line));
    }
    return new Response(answer.body === "" ? null : answer.body, { status: answer.statusCode, headers });
  };
}

/** A browser that knows the application only. */
export class Browser {
  /** The cookies by name. */
  readonly cookies = new Map<string, string>();

  constructor(private readonly handler: Handler) {}

  /** Sends a request; `form` makes it a POST. */
  async send(path: string, form?: URLSearchParams): Promise<Response> {
    const headers = new Headers();
    if (this.cookies.size > 0) {
      headers.set("cookie", [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    }
    const response = await this.handler(
      new Request(new URL(path, ORIGIN), { headers, ...(form && { method: "POST", body: form }) }),
    );
    for (const line of response.headers.getSetCookie()) this.keep(line);
    return response;
  }

  private keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "" || /;\s*max-age=0(?:;|$)/i.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }

  /** How many sign-ins have begun and not ended. */
  attempts(): number {
    return attemptsOf(this).length;
  }
}

/** Presses the button: the address the browser is sent to. */
export async function startSignIn(browser: Browser, id: string): Promise<URL> {
  const { csrfToken } = await (await browser.send("/auth/csrf")).json();
  const form = new URLSearchParams({ csrfToken, callbackUrl: "/welcome" });
  const response = await browser.send(`/auth/signin/${id}`, form);
  assertEquals(response.status, 302);
  return new URL(response.headers.get("location") ?? "", ORIGIN);
}

/** Comes back from the provider: where the browser ends up. */
export async function finishSignIn(
  browser: Browser,
  id: string,
  { posts }: ProviderSample,
  back: URLSearchParams,
): Promise<string> {
  const path = `/auth/callback/${id}`;
  const response = posts ? await browser.send(path, back) : await browser.send(`${path}?${back}`);
  assertEquals(response.status, 302);
  return response.headers.get("location") ?? "";
}

/** The authorization request is the one the provider documents, with all of the checks and nothing else. */
export function assertAuthorizationRequest(
  url: URL,
  id: string,
  { authorize, checks }: ProviderSample,
): void {
  const { state, nonce, code_challenge, code_challenge_method, ...params } = Object.fromEntries(
    url.searchParams,
  );
  assertEquals(url.origin + url.pathname, authorize.url);
  assertEquals(url.hash, authorize.fragment ? `#${authorize.fragment}` : "");
  assertEquals(params, {
    response_type: authorize.responseType ?? "code",
    client_id: CLIENT.id,
    redirect_uri: `${ORIGIN}/auth/callback/${id}`,
    ...authorize.params,
  });
  assertEquals(
    { state: state !== undefined, nonce: nonce !== undefined, pkce: code_challenge !== undefined },
    // The `state` names the attempt, also if the provider does not check it.
    { state: true, nonce: checks.includes("nonce"), pkce: checks.includes("pkce") },
  );
  assertEquals(code_challenge_method, checks.includes("pkce") ? "S256" : undefined);
  if (code_challenge !== undefined) {
    assertEquals(code_challenge.length, createHash("sha256").update("").digest("base64url").length);
  }
}

/** Every request came, once each, and the way it is known to come. */
export function assertRequests(
  { requests, complaints }: StandIn,
  sample: ProviderSample,
  more: readonly Kind[] = [],
): void {
  const { documents = {}, userinfo = [], globalFetch = [] } = sample;
  assertEquals(complaints, []);
  const kinds: Kind[] = [
    ...Object.keys(documents).map(() => "discovery" as const),
    "token",
    ...userinfo.map(() => "userinfo" as const),
    ...more,
  ];
  const expected: StandIn["requests"] = kinds.map((kind) => ({
    kind,
    via: globalFetch.includes(kind === "keys" ? "token" : kind) ? "fetch" : "customFetch",
  }));
  const byKind = (a: { kind: string }, b: { kind: string }) => a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0;
  assertEquals([...requests].sort(byKind), expected.sort(byKind));
}
