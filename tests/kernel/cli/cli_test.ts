/** The command, run as a process. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import process from "node:process";
import type { FastifyAuthConfig } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { run } from "../../../src/cli/run.ts";
import { SECRET, testApp, testConfig } from "../../support/app.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What a run of the command gave. */
interface Run {
  code: number | null;
  output: string;
  complaint: string;
}

/** Runs the command as users do. */
function command(
  args: string[],
  environment: Record<string, string> = {},
  flags: string[] = [],
): Promise<Run> {
  const options = { cwd: root, timeout: 120_000, env: { ...process.env, NO_COLOR: "1", ...environment } };
  // Deno prints what it downloads if a machine has not seen the packages.
  const all = [
    "run",
    "--quiet",
    "--no-lock",
    "--no-check",
    "-A",
    ...flags,
    join(root, "src/cli/main.ts"),
    ...args,
  ];
  return new Promise((resolve) => {
    const child = execFile(Deno.execPath(), all, options, (_error, output, complaint) => {
      resolve({ code: child.exitCode, output, complaint });
    });
  });
}

/** Runs `doctor` for the source of an application. */
async function doctor(source: string, args: string[] = [], environment = {}): Promise<Run> {
  const directory = await mkdtemp(join(root, ".cli_"));
  try {
    await writeFile(join(directory, "app.ts"), source);
    await writeFile(join(directory, ".env"), `AUTH_SECRET=${SECRET}\nAUTH_URL=https://app.example\n`);
    const paths = args.map((arg) => arg === ".env" ? join(directory, arg) : arg);
    return await command(["doctor", join(directory, "app.ts"), ...paths], environment);
  } finally {
    await rm(directory, { recursive: true });
  }
}

const APP = `
  import Fastify from "fastify";
  import { FastifyAuth } from "fastify-authjs";
  import GitHub from "fastify-authjs/providers/github";
  const make = async (providers = [GitHub({ clientId: "the-id", clientSecret: "the-client-secret" })]) => {
    const app = Fastify({ logger: true });
    await app.register(FastifyAuth({ providers }), { prefix: "/auth" });
    return app;
  };
`;

const WITH_VARIABLES = { AUTH_SECRET: SECRET, AUTH_URL: "https://app.example" };

Deno.test("secret: prints a new secret, as a variable or alone", async () => {
  const [one, other] = [await command(["secret"]), await command(["secret", "--raw"])];
  assertMatch(one.output, /^AUTH_SECRET=[\w-]{44}\n$/);
  assertMatch(other.output, /^[\w-]{44}\n$/);
  assertEquals([one.code, other.code], [0, 0]);
  assert(!one.output.includes(other.output.trim()));
});

Deno.test("a command that is misspelled exits with 2 and says how to use it", async () => {
  for (
    const args of [
      ["docter"],
      ["doctor"],
      ["doctor", "--ulr", "x"],
      ["doctor", "--url", "app.example"],
      [
        "secret",
        "--json",
      ],
      ["secret", "two"],
      ["doctor", "app.ts", "--timeout", "0"],
      ["doctor", "app.ts", "--env-file", "/nowhere/.env"],
    ]
  ) {
    const { code, output, complaint } = await run(args);
    assertEquals([code, output], [2, ""], args.join(" "));
    assertMatch(complaint, /^fastify-authjs: .*\nRun it with --help/);
  }
  const { code, output } = await command(["--help"]);
  assertEquals(code, 0);
  assertStringIncludes(output, "Exit codes: 0");
});

const WAYS: [what: string, source: string][] = [
  ["a default export", "export default await make();"],
  ["a function that makes it", "export default () => make();"],
  [
    "app.listen(), and a timer that never ends",
    `
    const app = await make();
    setInterval(() => {}, 1000);
    await app.listen({ port: 1, host: "192.0.2.1" });
    process.exit(7);`,
  ],
  [
    "a plugin of fastify-cli",
    `
    export default async function (app, options) {
      await app.register(FastifyAuth({ providers: [GitHub({ clientId: "the-id", clientSecret: "s" })] }), { prefix: "/auth" });
    }`,
  ],
  [
    "a main() that is not awaited, and waits before each step",
    `
    const step = () => new Promise((resolve) => setTimeout(resolve, 20));
    async function main() {
      await step();
      const app = Fastify({ logger: true });
      await step();
      await app.register(FastifyAuth({ providers: [GitHub({ clientId: "the-id", clientSecret: "s" })] }), { prefix: "/auth" });
      await app.listen({ port: 1, host: "192.0.2.1" });
    }
    main();`,
  ],
  [
    "a handler for a platform, beside the application",
    `
    const app = await make();
    export default async function (request, response) {
      await app.ready();
      app.server.emit("request", request, response);
    }`,
  ],
  [
    "a server that listens without app.listen()",
    `
    const app = await make();
    await app.ready();
    app.server.listen({ port: 1, host: "192.0.2.1" }, () => process.exit(7));`,
  ],
];

for (const [what, source] of WAYS) {
  Deno.test(`doctor: loads an application without listening: ${what}`, async () => {
    const { code, output, complaint } = await doctor(`${APP}${source}`, [], WITH_VARIABLES);
    assertEquals([code, complaint], [0, ""], output);
    assertStringIncludes(output, "origin    https://app.example, by AUTH_URL");
    assertStringIncludes(output, "github (oauth), register https://app.example/auth/callback/github there");
    assertMatch(output, /ok +mount +FastifyAuth is mounted at \/auth/);
    assertStringIncludes(output, "0 errors, 0 warnings.");
    assert(!output.includes(SECRET) && !output.includes("the-client-secret"), output);
  });
}

Deno.test("doctor: reads a file of variables, and warnings count with --strict", async () => {
  const source = `${APP} export default await make([GitHub]);`;
  const run = await doctor(source, ["--env-file", ".env", "--json", "--strict"]);
  assertEquals([run.code, run.complaint], [1, ""]);
  const { findings } = JSON.parse(run.output);
  assertEquals(findings.map(({ level, code }: Record<string, string>) => [level, code]), [
    ["ok", undefined],
    ["warning", "FST_AUTHJS_WARN_CREDENTIALS"],
  ]);
  assert(!run.output.includes(SECRET));
});

Deno.test("doctor: says which sign-out URLs to register", async () => {
  const source = `${APP}
    import Keycloak from "fastify-authjs/providers/keycloak";
    import { memoryStore } from "fastify-authjs";
    const app = Fastify();
    await app.register(FastifyAuth({
      providers: [Keycloak({ clientId: "id", clientSecret: "s", issuer: "https://idp.example" })],
      providerLogout: { backchannel: true },
      store: memoryStore(),
      revocable: true,
    }), { prefix: "/auth" });
    export default app;`;
  const { code, output } = await doctor(source, ["--offline"], WITH_VARIABLES);
  assertEquals(code, 0, output);
  assertStringIncludes(output, "keycloak, register https://app.example/auth/signed-out there as post-logout");
  assertStringIncludes(
    output,
    "keycloak, register https://app.example/auth/backchannel-logout/keycloak there as back-channel",
  );
});

Deno.test("doctor: an application whose configuration a function chooses starts, and no tenant is checked", async () => {
  const source = `
    import Fastify from "fastify";
    import { FastifyAuth } from "fastify-authjs";
    const app = Fastify();
    await app.register(FastifyAuth(() => { throw new Error("chosen"); }), { prefix: "/auth" });
    export default app;`;
  const { code, output, complaint } = await doctor(source, ["--strict"], WITH_VARIABLES);
  assertEquals([code, complaint], [0, ""], output);
  assertMatch(
    output,
    /^ {2}mount {5}\/auth\n {2}config {4}a function chooses the configuration of each request/m,
  );
  assertMatch(
    output,
    /ok +mount +FastifyAuth is mounted at \/auth, .*settings of tenants are not checked here/,
  );
  assertStringIncludes(output, "0 errors, 0 warnings.");
});

const BROKEN: [what: string, source: string, code: number, message: RegExp][] = [
  ["that does not start", `${APP} await make(["github"]);`, 1, /^error +start +\S.*\n/],
  [
    "without FastifyAuth()",
    `import Fastify from "fastify"; Fastify();`,
    1,
    /error +mount .*does not register the plugin: .*auth\.plugin.*FastifyAuth\(config\)/,
  ],
  ["that makes no Fastify", "export default {};", 2, /makes no Fastify application.*export default app/],
  [
    "that prints why and ends the process",
    `${APP}
    const start = async () => {
      try {
        await make(["github"]);
      } catch (error) {
        console.log("stopping");
        process.exit(1);
      }
    };
    start();`,
    1,
    /^error +start .*ends the process with exit code 1[\s\S]*\nstopping\n$/,
  ],
  [
    "that ends the process, after its log said why",
    `
    import { exit } from "node:process";
    ${APP}
    const app = Fastify({ logger: true });
    try {
      await app.register(FastifyAuth({ providers: ["github"] }), { prefix: "/auth" });
    } catch (error) {
      app.log.error({ err: error }, "not started");
      exit(1);
    }`,
    1,
    /^error +start +FST_AUTHJS_PROVIDER_INVALID: .*providers\[0\]/,
  ],
  [
    "whose start is rejected, unseen",
    `${APP}
    const start = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      await make(["github"]);
    };
    start();`,
    1,
    /^error +start +FST_AUTHJS_PROVIDER_INVALID: .*providers\[0\]/,
  ],
  [
    "with a mistake in its syntax, whose place Node tells in the stack",
    `export default () => {
      throw Object.assign(new SyntaxError("Unexpected identifier"), { stack: "/app/config.js:3\\nlet a error\\n" });
    };`,
    1,
    /^error +start .*: Unexpected identifier \(\/app\/config\.js:3\)\n/,
  ],
  [
    "with a mistake in its syntax, whose place nothing tells",
    `JSON.parse("{");`,
    1,
    /^error +start .*JSON.*\. Start the application itself to see in which file and line\n/,
  ],
  [
    "that never ends",
    "await new Promise((resolve) => setTimeout(resolve, 60_000));",
    2,
    /not ready within 2 seconds/,
  ],
];

for (const [what, source, code, message] of BROKEN) {
  Deno.test(`doctor: a module ${what}`, async () => {
    const run = await doctor(source, what === "that never ends" ? ["--timeout", "2"] : [], WITH_VARIABLES);
    assertEquals(run.code, code, run.output + run.complaint);
    assertMatch(run.output + run.complaint, message);
  });
}

Deno.test("doctor: what an application prints is no part of the report", async () => {
  const source = `${APP}
    console.log("starting");
    process.stdout.write("on fire\\n");
    const app = await make();
    app.addHook("onClose", () => console.info("closing"));
    export default app;`;
  const { code, output, complaint } = await doctor(source, ["--json"], WITH_VARIABLES);
  assertEquals([code, JSON.parse(output).findings.length], [0, 1]);
  assertEquals(complaint, "starting\non fire\nclosing\n");
});

Deno.test("doctor: a file that is not there is no module", async () => {
  const { code, complaint } = await run(["doctor", "/nowhere/app.ts"]);
  assertEquals(code, 2);
  assertMatch(complaint, /There is no file \/nowhere\/app\.ts/);
});

Deno.test("doctor: a directory is no module", async () => {
  const { code, complaint } = await command(["doctor", "src"]);
  assertEquals(code, 2);
  assertStringIncludes(complaint, "src is a directory: name the module in it");
});

Deno.test("doctor: asks providers for their discovery documents, unless --offline", async () => {
  await using idp = await serve((_request, response) => response.writeHead(404).end());
  const source = `${APP}
    import Keycloak from "fastify-authjs/providers/keycloak";
    const issuer = "${idp.url}/realms/staff";
    export default () => make([Keycloak({ clientId: "id", clientSecret: "s", issuer })]);`;
  const online = await doctor(source, [], WITH_VARIABLES);
  assertEquals(online.code, 1);
  assertMatch(online.output, /error +provider .*\/realms\/staff\/\.well-known.*404.*AUTH_KEYCLOAK_ISSUER/);
  assertEquals((await doctor(source, ["--offline"], WITH_VARIABLES)).code, 0);
});

Deno.test("doctor: reads discovery documents as sign-ins do, at wellKnown and behind one redirect", async () => {
  await using idp = await serve(({ url = "" }, response) => {
    if (url === "/document/") return response.end(JSON.stringify({ issuer: idp.url, jwks_uri: `${idp.url}/keys` }));
    if (url === "/keys") return response.end('{"keys":[{}]}');
    response.writeHead(302, { location: url === "/document" ? "/document/" : "/sign-in" }).end();
  });
  const of = (wellKnown: string) =>
    `${APP}
    const own = { id: "op", name: "OP", type: "oidc", clientId: "id", clientSecret: "s" };
    export default () => make([{ ...own, issuer: "${idp.url}", ${wellKnown} }]);`;
  const found = await doctor(of(`wellKnown: "${idp.url}/document"`), [], WITH_VARIABLES);
  assertMatch(found.output, /"op" has its discovery document at \S+\/document\./);
  assert(!found.output.includes("The keys of"), found.output);
  const lost = await doctor(of(""), [], WITH_VARIABLES);
  assertMatch(lost.output, /error +provider .*\/\.well-known\/openid-configuration.*302/);
});

Deno.test("doctor: --timeout is that of discovery documents, too", async () => {
  // Its answer comes before the ten seconds that a document may take without the option.
  const timers: ReturnType<typeof setTimeout>[] = [];
  await using idp = await serve((_request, response) => {
    timers.push(setTimeout(() => response.writeHead(404).end(), 6000));
  });
  const source = `${APP}
    import Keycloak from "fastify-authjs/providers/keycloak";
    const issuer = "${idp.url}";
    export default () => make([Keycloak({ clientId: "id", clientSecret: "s", issuer })]);`;
  const { output } = await doctor(source, ["--timeout", "3"], WITH_VARIABLES);
  timers.forEach(clearTimeout);
  assertMatch(
    output,
    /error +provider .* cannot be had: there is no answer in time \(--timeout allows more\)/,
  );
});

Deno.test("doctor: finds keys that cannot be had", async () => {
  await using idp = await serve(({ url = "" }, response) => {
    if (url === "/keys") return response.writeHead(503).end();
    response.end(JSON.stringify({ issuer: idp.url, jwks_uri: `${idp.url}/keys` }));
  });
  const { code, output } = await doctor(
    `${APP}
    const own = { id: "op", name: "OP", type: "oidc", clientId: "id", clientSecret: "s" };
    export default () => make([{ ...own, issuer: "${idp.url}" }]);`,
    [],
    WITH_VARIABLES,
  );
  assertEquals(code, 1);
  assertMatch(output, /error +provider +The keys of "op", \S+\/keys, are answered with 503/);
});

Deno.test("doctor: finds a document of another issuer, and tables of mail links and passkeys", async () => {
  await using idp = await serve(({ url = "" }, response) => {
    const keys = url.startsWith("/keyless") ? {} : { jwks_uri: "http://127.0.0.1:1/keys" };
    response.end(JSON.stringify({ issuer: "https://other.example", ...keys }));
  });
  const { output } = await doctor(
    `${APP}
    import Passkey from "fastify-authjs/providers/passkey";
    const own = { id: "op", name: "OP", type: "oidc", clientId: "id", clientSecret: "s", issuer: "${idp.url}" };
    const keyless = { ...own, id: "keyless", issuer: "${idp.url}/keyless" };
    const mail = { id: "mail", name: "Mail", type: "email", sendVerificationRequest() {} };
    const names = ["createUser", "getUser", "getUserByEmail", "getUserByAccount", "updateUser", "linkAccount",
      "createSession", "getSessionAndUser", "updateSession", "deleteSession", "createVerificationToken", "getAccount",
      "createAuthenticator", "listAuthenticatorsByUserId", "updateAuthenticatorCounter"];
    const lost = ["useVerificationToken", "getAuthenticator"];
    const adapter = Object.fromEntries([
      ...names.map((name) => [name, async () => null]),
      ...lost.map((name) => [name, () => Promise.reject(new Error("no such table"))]),
    ]);
    const app = Fastify();
    const experimental = { enableWebAuthn: true };
    await app.register(FastifyAuth({ providers: [own, keyless, mail, Passkey], adapter, experimental }), { prefix: "/auth" });
    export default app;`,
    [],
    WITH_VARIABLES,
  );
  assertMatch(output, /warning +provider +The discovery document of "op", \S+, is that of the issuer https:\/\/other/);
  assertMatch(output, /error +provider +The keys of "op", http:\/\/127\.0\.0\.1:1\/keys, cannot be had/);
  assertMatch(output, /warning +provider +The discovery document of "keyless"/);
  assert(!output.includes('The keys of "keyless"'), output);
  assertMatch(output, /error +database +useVerificationToken\(\) of the adapter fails: .*no such table/);
  assertMatch(output, /error +database +getAuthenticator\(\) of the adapter fails: .*no such table/);
  const [line] = output.split("\n").filter((line) => line.includes("getAuthenticator()"));
  assertEquals(line!.split("no such table").length - 1, 1, line);
});

Deno.test("doctor: finds tables and columns that are missing, and http in production", async () => {
  const source = `
    import Fastify from "fastify";
    import { DrizzleAdapter } from "@auth/drizzle-adapter";
    import { createClient } from "@libsql/client";
    import { drizzle } from "drizzle-orm/libsql";
    import { FastifyAuth } from "fastify-authjs";
    import GitHub from "fastify-authjs/providers/github";
    import { sql } from "${new URL("../../../src/cli/schema.ts", import.meta.url)}";
    const client = createClient({ url: "file::memory:" });
    const lost = process.env.LOST;
    await client.executeMultiple(sql("sqlite", []).replaceAll("create table if not exists", "create table"));
    if (lost) await client.executeMultiple(lost);
    const app = Fastify();
    const providers = [GitHub({ clientId: "the-id", clientSecret: "the-client-secret" })];
    await app.register(FastifyAuth({ providers, adapter: DrizzleAdapter(drizzle(client)) }), { prefix: "/auth" });
    export default app;`;
  const found = async (environment: Record<string, string>) =>
    (await doctor(source, ["--offline"], { ...WITH_VARIABLES, ...environment })).output;
  assertMatch(await found({}), /ok +database +The adapter finds the tables/);
  const table = await found({ LOST: 'drop table "session"' });
  assertMatch(
    table,
    /error +database +getSessionAndUser\(\) of the adapter fails: .*no such table: session/s,
  );
  const column = await found({ LOST: 'alter table "user" drop column "image"' });
  assertMatch(column, /error +database +getUserByEmail\(\) of the adapter fails: .*no such column: image/s);
  const open = await found({ NODE_ENV: "production", AUTH_URL: "http://app.example" });
  assertMatch(open, /error +origin +http:\/\/app\.example has no TLS/);
});

/** A server on loopback. */
async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

const github = GitHub({ clientId: "the-id", clientSecret: "the-client-secret" });

async function deployed(config: Partial<FastifyAuthConfig>, options: Parameters<typeof testApp>[1] = {}) {
  const app = await testApp(testConfig({ providers: [github], ...config }), options);
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return { app, url, [Symbol.asyncDispose]: () => app.close() };
}

Deno.test("doctor --url: a deployment that works has no errors and no warnings", async () => {
  await using site = await deployed({});
  const { code, output } = await command(["doctor", "--offline", "--url", site.url]);
  assertEquals(code, 0, output);
  assertMatch(output, /ok +callback +github: register http:\S+\/auth\/callback\/github at the provider/);
  assertMatch(output, /ok +sign-in +github: users are sent to https:\/\/github\.com/);
  assertStringIncludes(output, "0 errors, 0 warnings.");
});

const WRONG: [
  what: string,
  config: Partial<FastifyAuthConfig>,
  options: Parameters<typeof testApp>[1],
  found: RegExp,
][] = [
  [
    "another origin",
    { origin: "https://www.app.example" },
    {},
    /error +origin .*https:\/\/www\.app\.example.*AUTH_URL=http/,
  ],
  [
    "a proxy that lets clients choose the origin",
    {},
    { trustProxy: true },
    /warning +proxy .*X-Forwarded-Host/,
  ],
  [
    "no client id",
    { providers: [GitHub({ clientId: "undefined", clientSecret: "s" })] },
    {},
    /error +sign-in .*AUTH_GITHUB_ID/,
  ],
  ["another mount path", {}, { prefix: "/api/auth" }, /error +reach .*give it, as in/],
];

for (const [what, config, options, found] of WRONG) {
  Deno.test(`doctor --url: finds ${what}`, async () => {
    await using site = await deployed(config, options);
    const { code, output } = await run(["doctor", "--offline", "--url", site.url, "--strict"]);
    assertEquals(code, 1, output);
    assertMatch(output, found);
    assert(!output.includes(SECRET) && !output.includes("the-client-secret"));
  });
}

/** A proxy in front of an application, which changes requests and replies. */
function proxy(
  target: FastifyInstance,
  change: (reply: Record<string, unknown>, url: string) => void,
  request = (headers: Record<string, unknown>) => headers,
) {
  return serve(async (incoming, response) => {
    const body: Uint8Array[] = [];
    for await (const chunk of incoming) body.push(chunk);
    const { headers, rawPayload, statusCode } = await target.inject({
      method: incoming.method as "GET",
      url: incoming.url!,
      headers: request({ ...incoming.headers }) as Record<string, string>,
      payload: new TextDecoder().decode(await new Blob(body as Uint8Array<ArrayBuffer>[]).arrayBuffer()),
    });
    const reply: Record<string, unknown> = { ...headers };
    delete reply["content-length"];
    delete reply["transfer-encoding"];
    change(reply, incoming.url!);
    response.writeHead(statusCode, reply as Record<string, string>).end(rawPayload);
  });
}

const PROXIES: [what: string, change: (reply: Record<string, unknown>) => void, found: RegExp][] = [
  ["that removes Set-Cookie", (reply) => delete reply["set-cookie"], /error +cookies .*removes Set-Cookie/],
  [
    "that overrides Cache-Control",
    (reply) => reply["cache-control"] = "max-age=60",
    /error +cache .*"max-age=60"/,
  ],
  [
    "that removes security headers",
    (reply) => delete reply["x-content-type-options"],
    /warning +headers .*x-content-type-options/,
  ],
];

for (const [what, change, found] of PROXIES) {
  Deno.test(`doctor --url: finds a proxy ${what}`, async () => {
    await using app = await testApp(testConfig({ providers: [github] }));
    await using site = await proxy(app, change);
    const { code, output } = await run(["doctor", "--offline", "--url", site.url, "--strict"]);
    assertEquals(code, 1, output);
    assertMatch(output, found);
  });
}

Deno.test("doctor --url: finds a proxy that removes cookies, and one that answers for the application", async () => {
  await using app = await testApp(testConfig({ providers: [github] }));
  await using site = await proxy(app, () => {}, ({ cookie: _, ...headers }) => headers);
  assertMatch(
    (await run(["doctor", "--offline", "--url", site.url])).output,
    /error +cookies .*removes the Cookie header/,
  );
  await using down = await serve((_request, response) => response.writeHead(502).end("Bad Gateway"));
  assertMatch(
    (await run(["doctor", "--offline", "--url", down.url])).output,
    /error +reach .*502: the application does not run/,
  );
});

Deno.test("doctor --url: over TLS it looks at Secure cookies and Strict-Transport-Security", async () => {
  const [key, cert] = await Promise.all(
    ["key", "cert"].map((name) => readFile(new URL(`../../support/tls/${name}.pem`, import.meta.url))),
  );
  const app = Fastify({ https: { key: key!, cert: cert! } }) as unknown as FastifyInstance;
  await app.register(FastifyAuth(testConfig({ providers: [github] })), { prefix: "/auth" });
  const { port } = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
  try {
    const args = ["doctor", "--offline", "--url", `https://localhost:${port}`];
    const untrusted = await command(args);
    assertEquals(untrusted.code, 1);
    assertMatch(untrusted.output, /error +reach .*certificate/i);
    const { output } = await command(args, {}, ["--unsafely-ignore-certificate-errors"]);
    assertMatch(output, /ok +cookies +__Host-authjs\.csrf-token.*Secure/);
    assertMatch(output, /warning +tls .*Strict-Transport-Security/);
    assertStringIncludes(output, "0 errors");
  } finally {
    await app.close();
  }
});

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers with a page, whatever is asked for. */
function page(status: number, headers: Record<string, string> = {}, body = "<h1>Sorry</h1>"): Answer {
  return (_request, response) => response.writeHead(status, headers).end(body);
}

const UNREACHED: [what: string, answer: Answer, found: RegExp][] = [
  [
    "a redirect to another host",
    ({ url }, response) => response.writeHead(301, { location: `https://www.app.example${url}` }).end(),
    /redirects to https:\/\/www\.app\.example\/auth\/providers: check --url https:\/\/www\.app\.example\/auth\.$/m,
  ],
  [
    "a slash that a proxy adds",
    ({ url }, response) => response.writeHead(301, { location: `${url}/` }).end(),
    /the same path with a slash at its end/,
  ],
  [
    "a sign-in of something in front",
    page(302, { location: "https://sso.example/login?token=hidden" }),
    /redirects to https:\/\/sso\.example\/login, which is none of the auth routes/,
  ],
  [
    "a guard on the auth routes",
    page(401, {}, '{"code":"FST_AUTHJS_UNAUTHENTICATED","message":"no"}'),
    /answers 401: .*that asks for a session leave the auth routes out/,
  ],
  [
    "a password of HTTP",
    page(401, { "www-authenticate": 'Basic realm="x"' }),
    /give it as --url https:\/\/user/,
  ],
  ["a firewall", page(403), /answers 403: a proxy or firewall refuses requests of this machine/],
  ["a limit", page(429), /answers 429: the requests of this machine are limited/],
  [
    "an error of the application",
    page(500, {}, '{"statusCode":500,"error":"Internal Server Error","message":"boom"}'),
    /answers 500: the reason is in the log/,
  ],
  [
    "an error that the plugin explains",
    page(400, {}, '{"code":"FST_AUTHJS_HOST_INVALID","message":"The Host header is missing."}'),
    /answers 400 \(FST_AUTHJS_HOST_INVALID\): The Host header is missing\./,
  ],
  ["a page for every path", page(200), /answers 200 without the list of providers/],
  ["no answer", () => {}, /cannot be reached: there is no answer in time \(--timeout allows more\)/],
];

for (const [what, answer, found] of UNREACHED) {
  Deno.test(`doctor --url: says what to change for ${what}`, async () => {
    await using site = await serve(answer);
    const { code, output } = await run(["doctor", "--offline", "--url", site.url, "--timeout", "0.2"]);
    assertEquals(code, 1, output);
    assertMatch(output, found);
    assert(!output.includes("hidden"), output);
  });
}

Deno.test("doctor --url: a password that is refused, or cannot be decoded", async () => {
  await using site = await serve(page(401, { "www-authenticate": "Basic" }));
  const refused = await run(["doctor", "--offline", "--url", site.url.replace("//", "//ada:wrong@")]);
  assertMatch(refused.output, /refuses the user name or the password in --url/);
  assert(!refused.output.includes("wrong"));
  const { code, complaint } = await run(["doctor", "--url", "https://ada:100%@app.example"]);
  assertEquals(code, 2);
  assertMatch(complaint, /write it as %25/);
});

Deno.test("doctor --url: the password is sent by https alone", async () => {
  const asked: [scheme: string, authorization: string | null][] = [];
  const answer = (input: string | URL | Request, init?: RequestInit) => {
    const url = new URL(String(input));
    asked.push([url.protocol, new Headers(init?.headers).get("authorization")]);
    if (url.protocol === "http:") return Promise.resolve(new Response(null, { status: 401 }));
    const body = url.pathname.endsWith("/providers") ? "{}" : "null";
    return Promise.resolve(new Response(body, { headers: { "strict-transport-security": "max-age=0" } }));
  };
  using _fetch = stub(globalThis, "fetch", answer as typeof fetch);
  const { output } = await run(["doctor", "--offline", "--url", "https://ada:secret@app.example"]);
  assertEquals(asked.filter(([scheme]) => scheme === "http:"), [["http:", null]]);
  assert(asked.some(([scheme, authorization]) => scheme === "https:" && authorization !== null));
  assertMatch(output, /warning +tls +http:\/\/app\.example\/auth\/signin is served without TLS/);
  assertMatch(output, /warning +tls +There is no Strict-Transport-Security/); // one that ends at once is none
});

Deno.test("doctor --url: a provider that refuses the callback URL", async () => {
  let answer = "Invalid parameter: redirect_uri";
  await using idp = await serve((_request, response) => {
    response.writeHead(answer === "" ? 200 : 400, { "content-type": "text/html" }).end(answer);
  });
  const provider = GitHub({ clientId: "id", clientSecret: "secret", authorization: `${idp.url}/authorize` });
  await using site = await deployed({ providers: [provider] });
  const output = async (...args: string[]) => (await run(["doctor", "--url", site.url, ...args])).output;
  const refused =
    /error +callback +github: the provider does not know the callback URL. Register \S+\/auth\/callback\/github/;
  assertMatch(await output(), refused);
  assert(!refused.test(await output("--offline")));
  answer = "";
  assert(!refused.test(await output()));
});

Deno.test("doctor --url: its advice keeps a public path", async () => {
  await using site = await deployed({ origin: "https://other.example" }, { prefix: "/api/auth" });
  const { output } = await run(["doctor", "--offline", "--url", `${site.url}/api/auth`]);
  assertStringIncludes(output, `AUTH_URL=${site.url}/api/auth, or`);
});

Deno.test("doctor --url: an origin that is wrong is not blamed on headers of clients", async () => {
  await using site = await deployed({ origin: "https://www.app.example" });
  const { output } = await run(["doctor", "--offline", "--url", site.url]);
  assertMatch(output, /error +origin/);
  assertMatch(output, /ok +proxy/);
});

Deno.test("doctor --url: without providers the origin cannot be seen", async () => {
  await using site = await deployed({ providers: [] });
  const { output } = await run(["doctor", "--offline", "--url", site.url]);
  assertMatch(output, /warning +provider +There is no provider/);
  assert(!output.includes("proxy "), output);
});

Deno.test("doctor --url: without a CSRF token no sign-in is tried", async () => {
  await using app = await testApp(testConfig({ providers: [github] }));
  await using site = await proxy(app, (reply) => delete reply["set-cookie"]);
  await using broken = await serve(async (request, response) => {
    if (request.url!.endsWith("/csrf")) return page(200)(request, response);
    const reply = await fetch(`${site.url}${request.url}`, { headers: { host: "x" }, redirect: "manual" });
    response.writeHead(reply.status).end(await reply.text());
  });
  const { output } = await run(["doctor", "--offline", "--url", broken.url]);
  assertMatch(output, /error +csrf .* answers 200 without a token/);
  assertMatch(output, /warning +sign-in +No sign-in was tried, since there is no CSRF token\./);
  assert(!output.includes("Cannot"), output);
});

Deno.test("doctor --url: frame-ancestors is as good as X-Frame-Options", async () => {
  await using app = await testApp(testConfig({ providers: [github] }));
  const headersFound = async (policy: string) => {
    await using site = await proxy(app, (reply) => {
      delete reply["x-frame-options"];
      reply["content-security-policy"] = policy;
    });
    return (await run(["doctor", "--offline", "--url", site.url])).output.match(/^\w+ +headers/m)?.[0].split(
      " ",
    )[0];
  };
  assertEquals(await headersFound("default-src 'self'; frame-ancestors 'none'"), "ok");
  assertEquals(await headersFound("frame-ancestors *"), "warning");
});

Deno.test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
  for (const args of [["--version"], ["doctor", "--version"]]) {
    assertEquals(await run(args), { code: 0, output: version, complaint: "" });
  }
});

Deno.test("a command that is named like a method of objects is none", async () => {
  assertMatch((await run(["constructor"])).complaint, /There is no command "constructor"/);
});
