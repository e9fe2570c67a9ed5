/** Applications whose users see other paths than Fastify: behind a proxy that removes a path, or with `rewriteUrl`. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, FastifyAuthError, getSession, requireSession } from "fastify-authjs";
import { captureLog, passwordProvider, SECRET, testConfig } from "../../support/app.ts";
import { type Answer, setCookies } from "../../support/client.ts";
import { withEnvironment } from "../../support/environment.ts";
import { locationOf, pathOf } from "../../support/oauth_client.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";

const ORIGIN = "https://app.example";

interface Setup {
  /** `AUTH_URL` or `origin`. */
  readonly url: string;
  /** Where Fastify has the routes. */
  readonly prefix: string;
  /** What the proxy does with a path. */
  readonly proxy: (path: string) => string;
  readonly server?: FastifyServerOptions;
  /** The path of the auth routes, and of a page, as users see them. */
  readonly auth: string;
  readonly page: string;
}

const without = (removed: string) => (path: string) =>
  path.startsWith(`${removed}/`) ? path.slice(removed.length) : `/outside${path}`;
const rewrite = (change: (path: string) => string): FastifyServerOptions => ({
  rewriteUrl: ({ url }) => change(url!),
});
const same = (path: string) => path;

const SETUPS: Record<string, Setup> = {
  "a proxy that removes /api": {
    url: `${ORIGIN}/api/auth`,
    prefix: "/auth",
    proxy: without("/api"),
    auth: "/api/auth",
    page: "/api/page",
  },
  "a proxy that removes two segments": {
    url: `${ORIGIN}/v1/%C3%BC/auth/`,
    prefix: "/auth",
    proxy: without("/v1/%C3%BC"),
    auth: "/v1/%C3%BC/auth",
    page: "/v1/%C3%BC/page",
  },
  "a gateway that removes its stage, above a nested prefix": {
    url: `${ORIGIN}/prod/users/auth`,
    prefix: "/users/auth",
    proxy: without("/prod"),
    auth: "/prod/users/auth",
    page: "/prod/page",
  },
  "rewriteUrl that removes /api": {
    url: `${ORIGIN}/api/auth`,
    prefix: "/auth",
    proxy: same,
    server: rewrite(without("/api")),
    auth: "/api/auth",
    page: "/api/page",
  },
  "rewriteUrl that moves the auth routes alone": {
    url: `${ORIGIN}/accounts`,
    prefix: "/auth",
    proxy: same,
    server: rewrite((path) => path.replace(/^\/accounts(?=\/)/, "/auth")),
    auth: "/accounts",
    page: "/page",
  },
  "a proxy that moves the auth routes alone": {
    url: `${ORIGIN}/accounts`,
    prefix: "/auth",
    proxy: (path) => path.replace(/^\/accounts(?=\/)/, "/auth"),
    auth: "/accounts",
    page: "/page",
  },
  "no proxy, with the mount path": {
    url: `${ORIGIN}/auth`,
    prefix: "/auth",
    proxy: same,
    auth: "/auth",
    page: "/page",
  },
};

/** A browser in front of the proxy: it goes by the paths that users see, and sends cookies by their path. */
class PublicBrowser {
  readonly cookies = new Map<string, { value: string; path: string }>();
  constructor(private readonly app: FastifyInstance, private readonly proxy: (path: string) => string) {}

  async send(path: string, form?: Record<string, string>): Promise<Answer> {
    const sent = [...this.cookies].filter(([, cookie]) => path.startsWith(cookie.path));
    const answer = await this.app.inject({
      method: form ? "POST" : "GET",
      url: this.proxy(path),
      headers: {
        accept: "text/html",
        cookie: sent.map(([name, { value }]) => `${name}=${value}`).join("; "),
        ...(form && { "content-type": "application/x-www-form-urlencoded", origin: ORIGIN }),
      },
      ...(form && { payload: new URLSearchParams(form).toString() }),
    });
    for (const line of setCookies(answer)) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const [, cookiePath = "/"] = /;\s*path=([^;]*)/i.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, { value, path: cookiePath });
    }
    return answer;
  }

  async csrfToken(auth: string): Promise<string> {
    return (await this.send(`${auth}/csrf`)).json().csrfToken;
  }
}

async function start(setup: Setup, provider: ScriptedProvider | undefined, how: "AUTH_URL" | "origin") {
  const { logger, lines } = captureLog();
  const oidc = provider &&
    {
      id: "op",
      name: "OP",
      type: "oidc",
      issuer: provider.issuer,
      clientId: "client",
      clientSecret: "secret",
    };
  const providers = [passwordProvider(), ...(oidc ? [oidc] : [])] as FastifyAuthConfig["providers"];
  const config: FastifyAuthConfig = {
    providers,
    secret: SECRET,
    ...(how === "origin" && { origin: setup.url }),
  };
  const app = Fastify({ logger, ...setup.server }) as unknown as FastifyInstance;
  await withEnvironment(how === "AUTH_URL" ? { AUTH_URL: setup.url } : {}, async () => {
    await app.register(FastifyAuth(config), { prefix: setup.prefix });
  });
  app.get("/page", { onRequest: requireSession(config) }, (request) => getSession(request, config));
  await app.ready();
  return { app, lines, browser: () => new PublicBrowser(app, setup.proxy) };
}

for (const [name, setup] of Object.entries(SETUPS)) {
  Deno.test(`public path: a whole sign-in with ${name}`, async () => {
    await using provider = await ScriptedProvider.start();
    for (const how of ["AUTH_URL", "origin"] as const) {
      const { app, browser: open } = await start(setup, provider, how);
      await using _app = app;
      const browser = open();
      const { auth, page } = setup;

      const listed = (await browser.send(`${auth}/providers`)).json();
      assertEquals(listed.op.callbackUrl, `${ORIGIN}${auth}/callback/op`);
      assertEquals(listed.op.signinUrl, `${ORIGIN}${auth}/signin/op`);

      const guarded = await browser.send(`${page}?a=b`);
      const query = new URLSearchParams({ error: "SessionRequired", callbackUrl: `${page}?a=b` });
      assertEquals(guarded.headers.location, `${auth}/signin?${query}`);
      const form = await browser.send(locationOf(guarded));
      assertEquals(form.statusCode, 200);
      const actions = [...form.body.matchAll(/<form[^>]*\saction="([^"]*)"/g)].map(([, action]) =>
        new URL(action!, ORIGIN).pathname
      );
      assertEquals(actions.sort(), [`${auth}/callback/credentials`, `${auth}/signin/op`]);
      assertEquals((await browser.send(`${auth}/signin/op`)).headers.location, `${auth}/signin`);

      const csrfToken = await browser.csrfToken(auth);
      const callbackUrl = `${page}?a=b`;
      const started = await browser.send(`${auth}/signin/op`, { csrfToken, callbackUrl });
      const authorization = new URL(locationOf(started));
      assertEquals(authorization.searchParams.get("redirect_uri"), `${ORIGIN}${auth}/callback/op`);
      const finished = await browser.send(pathOf(provider.authorize(authorization)));
      assertEquals(finished.headers.location, `${ORIGIN}${callbackUrl}`);
      assertEquals((await browser.send(page)).json().user.name, "Ada");

      const out = await browser.send(`${auth}/signout`, { csrfToken: await browser.csrfToken(auth) });
      assertEquals(out.statusCode, 302);
      assertEquals((await browser.send(page)).statusCode, 302);

      const wrong = { csrfToken: await browser.csrfToken(auth), username: "ada", password: "wrong" };
      const refused = new URL(locationOf(await browser.send(`${auth}/callback/credentials`, wrong)));
      assertEquals([refused.origin, refused.pathname], [ORIGIN, `${auth}/signin`]);
      const failed = new URL(locationOf(await browser.send(`${auth}/callback/op?code=a&state=b`)));
      assertEquals(failed.pathname, `${auth}/error`);
    }
  });
}

Deno.test("public path: pages.signIn is a path as users see it", async () => {
  const { url, prefix, proxy } = SETUPS["a proxy that removes /api"]!;
  const config = testConfig({ origin: url, pages: { signIn: "/api/login" } });
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix });
  app.addHook("onRequest", requireSession(config));
  app.get("/login", () => "the form");
  app.get("/api/login", () => "another page");
  const browser = new PublicBrowser(app, proxy);
  assertEquals((await browser.send("/api/login")).body, "the form");
  assertMatch(String((await browser.send("/api/page")).headers.location), /^\/api\/login\?/);
  assertMatch(String((await browser.send("/api/api/login")).headers.location), /^\/api\/login\?/);
});

Deno.test("public path: several mounts follow the one that the path names", async () => {
  const config = testConfig({ origin: `${ORIGIN}/api/auth` });
  const staff = testConfig({ origin: `${ORIGIN}/api/auth`, secret: `${SECRET}-2` });
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(FastifyAuth(staff), { prefix: "/staff" });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register(FastifyAuth(config), { prefix: "/t/auth" });
  for (const path of ["/auth", "/t/auth", "/staff"]) {
    const { callbackUrl } = (await app.inject(`${path}/providers`)).json().credentials;
    assertEquals(callbackUrl, `${ORIGIN}/api${path}/callback/credentials`);
  }
});

Deno.test("public path: several mounts that cannot be told apart are an error", async () => {
  const config = testConfig({ origin: `${ORIGIN}/accounts` });
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register(FastifyAuth(config), { prefix: "/t/auth" });
  const error = await assertRejects(async () => await app.ready(), FastifyAuthError, '"/accounts"');
  assertEquals(error.code, "FST_AUTHJS_ORIGIN_INVALID");
});

Deno.test("public path: boot says where users see the routes, if that is elsewhere", async () => {
  const linesOf = async (setup: Setup) => {
    const { app, lines } = await start(setup, undefined, "origin");
    await using _app = app;
    return lines.filter(({ msg }) => /Users see/.test(msg)).map(({ level, msg }) => `${level} ${msg}`);
  };
  const [line, ...more] = await linesOf(SETUPS["a proxy that removes /api"]!);
  assertEquals(more, []);
  assertMatch(line!, /^30 .*https:\/\/app\.example\/api\/auth.* \/auth: a proxy or `rewriteUrl`/);
  assertEquals(await linesOf(SETUPS["no proxy, with the mount path"]!), []);
});

Deno.test("public path: basePath may be the public path or the mount path", async () => {
  for (const basePath of ["/api/auth", "/auth"]) {
    await using app = Fastify() as unknown as FastifyInstance;
    await app.register(FastifyAuth(testConfig({ origin: `${ORIGIN}/api/auth`, basePath })), {
      prefix: "/auth",
    });
  }
  await using app = Fastify() as unknown as FastifyInstance;
  await assertRejects(
    async () =>
      await app.register(FastifyAuth(testConfig({ origin: `${ORIGIN}/api/auth`, basePath: "/other" })), {
        prefix: "/auth",
      }),
    FastifyAuthError,
    "basePath",
  );
});
