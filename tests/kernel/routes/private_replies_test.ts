/** The replies of guarded routes are in no shared cache, unless the route itself says so. */
import { assertEquals } from "@std/assert";
import caching from "@fastify/caching";
import etag from "@fastify/etag";
import files from "@fastify/static";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { FastifyAuth, requireSession } from "fastify-authjs";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

const ada = { username: "ada", password: "open" };
const PUBLIC = "public, max-age=300, s-maxage=600";

type Prepare = (app: FastifyInstance) => unknown;

/** An application whose routes below `guarded` are guarded, before or after it is prepared. */
async function application(prepare: Prepare, guarded: Prepare, first = true, config = testConfig()) {
  const app = Fastify() as unknown as FastifyInstance;
  if (first) await prepare(app);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  if (!first) await prepare(app);
  app.get("/open", () => "");
  await app.register(async (scope) => {
    scope.addHook("onRequest", requireSession(config));
    await guarded(scope as FastifyInstance);
  });
  const client = new Client(app);
  await client.signIn(ada);
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await client.get(url, { headers });
    const { "cache-control": cacheControl, vary } = answer.headers;
    return { status: answer.statusCode, cacheControl, vary, answer };
  };
  return { app, client, get, [Symbol.asyncDispose]: () => app.close() };
}

const cacheAll: Prepare = (app) =>
  app.register(caching, { privacy: caching.privacy.PUBLIC, expiresIn: 300, serverExpiresIn: 600 });

const REPLIES: Record<string, (reply: FastifyReply) => unknown> = {
  "an object": () => ({ secret: 1 }),
  "a text": () => "secret",
  "a stream": () => Readable.from(["secret"]),
  "a Response": () => new Response("secret"),
  "reply.send()": (reply) => reply.send("secret"),
  "no body": (reply) => reply.code(204).send(),
  "an error": () => Promise.reject(new Error("secret")),
};

const pathOf = (name: string) => `/${name.replaceAll(/\W+/g, "-")}`;

/** What makes every reply of an application public. */
const PUBLISHING: Record<string, Prepare> = {
  "@fastify/caching": cacheAll,
  "an onRequest hook": (app) =>
    app.addHook("onRequest", (_request, reply, done) => {
      reply.headers({ "cache-control": PUBLIC, "surrogate-control": "max-age=600" });
      done();
    }),
  "an onSend hook": (app) =>
    app.addHook("onSend", (_request, reply, payload, done) => {
      reply.headers({ "cache-control": PUBLIC, "cdn-cache-control": "max-age=600" });
      done(null, payload);
    }),
};

for (const [how, prepare] of Object.entries(PUBLISHING)) {
  for (const first of [true, false]) {
    Deno.test(`guarded replies are private despite ${how}, registered ${first ? "before" : "after"} the plugin`, async () => {
      await using app = await application(prepare, (scope) => {
        for (const [name, reply] of Object.entries(REPLIES)) {
          scope.get(pathOf(name), (_request, sent) => reply(sent) as Promise<unknown>);
        }
      }, first);
      for (const name of Object.keys(REPLIES)) {
        const { cacheControl, vary, answer } = await app.get(pathOf(name));
        assertEquals(/public|s-maxage/.test(String(cacheControl)), false, `${name}: ${cacheControl}`);
        assertEquals(/private|no-store/.test(String(cacheControl)), true, `${name}: ${cacheControl}`);
        assertEquals(vary, "Cookie", name);
        assertEquals([answer.headers["surrogate-control"], answer.headers["cdn-cache-control"]], [
          undefined,
          undefined,
        ]);
      }
      const open = await app.get("/open");
      assertEquals([open.cacheControl, open.vary], [PUBLIC, undefined]);
      const refused = await app.app.inject("/a-text");
      assertEquals([refused.statusCode, refused.headers["cache-control"]], [401, "no-store"]);
      const sent = await app.app.inject({ url: "/a-text", headers: { accept: "text/html" } });
      assertEquals([sent.statusCode, sent.headers["cache-control"]], [302, "no-store"]);
    });
  }
}

Deno.test("a guarded reply that nothing says anything about is private", async () => {
  await using app = await application(() => {}, (scope) => scope.get("/page", () => "secret"));
  const { cacheControl, vary } = await app.get("/page");
  assertEquals([cacheControl, vary], ["private, no-cache", "Cookie"]);
});

Deno.test("a header without a value says nothing of a guarded reply", async () => {
  const none = { "cache-control": null, vary: null } as never;
  await using app = await application(() => {}, (scope) => {
    scope.get("/text", (_request, reply) => reply.headers(none).send("me"));
    scope.get("/stream", (_request, reply) => reply.headers(none).send(Readable.from(["me"])));
  });
  for (const url of ["/text", "/stream"]) {
    const { cacheControl, vary } = await app.get(url);
    assertEquals([cacheControl, vary], ["private, no-cache", "Cookie"], url);
  }
});

Deno.test("what a guarded route says of its own reply counts", async () => {
  const own = { "cache-control": "public, max-age=60" };
  await using app = await application(cacheAll, (scope) => {
    scope.get("/header", (_request, reply) => reply.headers(own).send("same for all"));
    scope.get("/response", () => new Response("same for all", { headers: own }));
    scope.get(
      "/hook",
      { preHandler: (_request, reply, done) => (reply.headers(own), done()) },
      () => "same for all",
    );
    scope.get("/file", (_request, reply) => {
      return reply.headers({ "cache-control": "public, max-age=60, s-maxage=60", "accept-ranges": "bytes" }).send("a");
    });
    scope.get("/private", (_request, reply) => reply.header("cache-control", "no-cache").send("own"));
    scope.get("/none", (_request, reply) => reply.header("cache-control", "no-store").send("own"));
  });
  for (const url of ["/header", "/response", "/hook"]) {
    const { cacheControl, vary } = await app.get(url);
    assertEquals([cacheControl, vary], ["public, max-age=60", "Cookie"], url);
  }
  assertEquals((await app.get("/file")).cacheControl, "public, max-age=60, s-maxage=60");
  assertEquals((await app.get("/private")).cacheControl, "no-cache");
  assertEquals((await app.get("/none")).cacheControl, "no-store");
});

Deno.test("what is set before a second guard is not what the route says", async () => {
  const config = testConfig();
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.addHook("onRequest", requireSession(config));
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("cache-control", PUBLIC);
    done();
  });
  app.get("/page", { preHandler: requireSession(config) }, () => "secret");
  const client = new Client(app);
  await client.signIn(ada);
  assertEquals((await client.get("/page")).headers["cache-control"], "private, max-age=300");
});

Deno.test("a guarded reply keeps the other values of Vary", async () => {
  await using app = await application((app) => {
    app.addHook("onSend", (_request, reply, payload, done) => {
      reply.header("vary", "Origin");
      done(null, payload);
    });
  }, (scope) => {
    scope.get("/page", () => "");
    scope.get("/stream", () => Readable.from(["a"]));
  });
  assertEquals((await app.get("/page")).vary, "Origin, Cookie");
  assertEquals((await app.get("/stream")).vary, "Origin, Cookie");
});

Deno.test("a guarded reply with an ETag, and its 304, are private", async () => {
  await using app = await application(async (app) => {
    await app.register(etag);
    await cacheAll(app);
  }, (scope) => scope.get("/page", () => "secret"));
  const { answer, cacheControl } = await app.get("/page");
  assertEquals(cacheControl, "private, max-age=300");
  const again = await app.get("/page", { "if-none-match": String(answer.headers.etag) });
  assertEquals([again.status, again.cacheControl, again.vary], [304, "no-store", "Cookie"]);
});

Deno.test("guarded files of @fastify/static are private", async () => {
  const root = mkdtempSync(join(tmpdir(), "files-"));
  writeFileSync(join(root, "secret.txt"), "secret");
  try {
    for (
      const [options, expected] of [
        [{}, "private, max-age=0"],
        [{ maxAge: 60_000, immutable: true }, "private, max-age=60, immutable"],
        [{ maxAge: 60_000, acceptRanges: false }, "private, max-age=60"],
        [{ maxAge: 60_000, lastModified: false }, "private, max-age=60"],
        [{ cacheControl: false, acceptRanges: false, lastModified: false }, "private, no-cache"],
      ] as const
    ) {
      await using app = await application(() => {}, (scope) => scope.register(files, { root, ...options }));
      const { answer, cacheControl, vary } = await app.get("/secret.txt");
      assertEquals(answer.body, "secret");
      assertEquals(cacheControl, expected);
      assertEquals(vary, "Cookie");
    }
  } finally {
    rmSync(root, { recursive: true });
  }
});

Deno.test("replies of routes that declare their guard are private", async () => {
  const config = testConfig();
  await using app = Fastify() as unknown as FastifyInstance;
  await cacheAll(app);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/page", { config: { auth: true } as object }, () => "secret");
  const client = new Client(app);
  assertEquals((await client.get("/page")).headers["cache-control"], "no-store");
  await client.signIn(ada);
  const { headers } = await client.get("/page");
  assertEquals([headers["cache-control"], headers.vary], ["private, max-age=300", "Cookie"]);
});

Deno.test("of a route that declares its guard, what hooks of scopes set after it is not what the route says", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  for (const name of ["preParsing", "preValidation", "preHandler"] as const) {
    app.addHook(name as "preHandler", (request, reply): Promise<void> => {
      if (request.url.includes(name)) reply.header("cache-control", PUBLIC);
      return Promise.resolve();
    });
  }
  const same = (_request: unknown, reply: FastifyReply, done: () => void) => {
    reply.header("cache-control", "public, max-age=60");
    done();
  };
  const config = { auth: true } as object;
  for (const name of ["preParsing", "preValidation", "preHandler"]) {
    app.get(`/${name}`, { config }, () => "secret");
    app.get(`/same/${name}`, { config, preHandler: same }, () => "same for all");
  }
  const client = new Client(app);
  await client.signIn(ada);
  for (const name of ["preParsing", "preValidation", "preHandler"]) {
    for (const [path, expected] of [["/", "private, max-age=300"], ["/same/", "public, max-age=60"]]) {
      const { statusCode, headers } = await client.get(path + name);
      assertEquals([path + name, statusCode, headers["cache-control"]], [path + name, 200, expected]);
    }
  }
});

Deno.test("a guarded reply that its handler took over is private, unless the handler says otherwise", async () => {
  await using app = await application(() => {}, (scope) => {
    for (const [url, headers] of Object.entries({ "/events": {}, "/same": { "cache-control": "public" } })) {
      scope.get(url, (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { "content-type": "text/event-stream", ...headers });
        reply.raw.end("data: secret\n\n");
      });
    }
  });
  const events = await app.get("/events");
  assertEquals([events.answer.body, events.cacheControl, events.vary], [
    "data: secret\n\n",
    "private, no-cache",
    "Cookie",
  ]);
  assertEquals((await app.get("/same")).cacheControl, "public");
});

Deno.test("a guarded reply whose handler writes its headers is private, unless the handler says otherwise", async () => {
  await using app = await application(() => {}, (scope) => {
    for (const [url, headers] of Object.entries({ "/events": {}, "/same": { "Cache-Control": "public" } })) {
      scope.get(url, (_request, reply) => {
        reply.raw.writeHead(200, "Fine", { "Content-Type": "text/event-stream", ...headers });
        reply.raw.end("data: secret\n\n");
      });
    }
  });
  const { answer, cacheControl, vary } = await app.get("/events");
  assertEquals([answer.headers["content-type"], answer.body], ["text/event-stream", "data: secret\n\n"]);
  assertEquals([answer.statusMessage, cacheControl, vary], ["Fine", "private, no-cache", "Cookie"]);
  assertEquals((await app.get("/same")).cacheControl, "public");
});

Deno.test("a guarded reply that renews the session is private, also with a `writeHead` of its handler's", async () => {
  const called: string[] = [];
  const wrapping: Prepare = (app) =>
    app.get("/wrapped", (_request, reply) => {
      const raw = reply.raw as unknown as { writeHead: (...args: unknown[]) => unknown };
      const { writeHead } = raw;
      raw.writeHead = function (...args) {
        called.push(String(reply.getHeader("cache-control")));
        return writeHead.apply(this, args);
      };
      return "secret";
    });
  const renewing = testConfig({ session: { updateAge: 0 } });
  await using page = await application(PUBLISHING["an onSend hook"]!, wrapping, false, renewing);
  for (let i = 1; i <= 2; i++) {
    const { cacheControl, vary, answer } = await page.get("/wrapped");
    assertEquals([answer.body, answer.cookies.length, cacheControl, vary], [
      "secret",
      1,
      "no-store",
      "Cookie",
    ]);
    assertEquals(answer.headers["cdn-cache-control"], undefined);
    // What was asked for last comes first: the cookie was set after the guard.
    assertEquals(called, Array(i).fill("no-store"));
  }
});

Deno.test("guarded replies over a socket are private, streams too", async () => {
  await using app = await application(cacheAll, (scope) => {
    scope.get("/page", () => "secret");
    scope.get("/stream", () => Readable.from(["secret"]));
  });
  await app.app.listen({ port: 0, host: "127.0.0.1" });
  const origin = `http://127.0.0.1:${(app.app.server.address() as AddressInfo).port}`;
  for (const path of ["/page", "/stream"]) {
    const response = await fetch(origin + path, { headers: { cookie: app.client.cookie! } });
    assertEquals(await response.text(), "secret");
    assertEquals(response.headers.get("cache-control"), "private, max-age=300");
    assertEquals(response.headers.get("vary"), "Cookie");
  }
});

Deno.test("G1: a guarded page is not kept by the browser, anything else is asked for again, unless the route says more", async () => {
  const html = { "content-type": "text/html; charset=utf-8" };
  await using app = await application(() => {}, (scope) => {
    scope.get("/page", (_request, reply) => reply.headers(html).send("<p>secret</p>"));
    scope.get("/xhtml", (_request, reply) => reply.type("application/xhtml+xml").send("<p/>"));
    scope.get("/stream", (_request, reply) => reply.headers(html).send(Readable.from(["<p>secret</p>"])));
    scope.get("/response", () => new Response("<p>secret</p>", { headers: html }));
    scope.get("/raw", (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, html).end("<p>secret</p>");
    });
    scope.get(
      "/own",
      (_request, reply) => reply.headers({ ...html, "cache-control": "private, max-age=60" }).send("<p>mine</p>"),
    );
    scope.get("/json", () => ({ secret: 1 }));
    scope.get("/text", () => "secret");
    scope.get("/image", (_request, reply) => reply.type("image/png").send("PNG"));
    scope.get("/elsewhere", (_request, reply) => reply.redirect("/json"));
  });
  for (const url of ["/page", "/xhtml", "/stream", "/response", "/raw"]) {
    assertEquals([url, (await app.get(url)).cacheControl], [url, "private, no-store"]);
  }
  for (const url of ["/json", "/text", "/image", "/elsewhere"]) {
    assertEquals([url, (await app.get(url)).cacheControl], [url, "private, no-cache"]);
  }
  assertEquals((await app.get("/own")).cacheControl, "private, max-age=60");
});

Deno.test("G1: a guarded page that hooks or a file server make cacheable for all replies is not kept either", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fastify-authjs-pages-"));
  writeFileSync(join(folder, "page.html"), "<p>secret</p>");
  try {
    await using cached = await application(
      cacheAll,
      (scope) => scope.get("/page", (_request, reply) => reply.type("text/html").send("<p>secret</p>")),
    );
    assertEquals((await cached.get("/page")).cacheControl, "private, no-store");
    await using served = await application(() => {}, (scope) => scope.register(files, { root: folder }));
    assertEquals((await served.get("/page.html")).cacheControl, "private, no-store");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("G1: the ETag of a guarded reply goes on working", async () => {
  await using app = await application((app) => app.register(etag), (scope) => {
    scope.get("/json", () => ({ secret: 1 }));
  });
  const first = await app.get("/json");
  const again = await app.get("/json", { "if-none-match": String(first.answer.headers.etag) });
  assertEquals([first.status, again.status, again.cacheControl], [200, 304, "private, no-cache"]);
});
