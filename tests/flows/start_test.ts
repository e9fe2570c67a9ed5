/** What an application loads when it starts: nothing that only requests need, or options that it does not use. */
import { assert, assertEquals } from "@std/assert";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { denoFlags } from "../support/deno_flags.ts";

/** Functions of the modules that are loaded later, by what they are for. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  "answering requests": ["answerRequest", "requestContext", "sendAnswer", "sendFailedPage"],
  "handlers": ["csrfAnswer", "handleSignIn", "handleCallback", "handleSession", "handleBackchannelLogout"],
  "calling core": ["callCore", "answerWithAdapter"],
  "pages": ["sendPage", "renderPage", "loadAssets", "logoSprite", "unpack", "signInMail"],
  "requests to providers": ["limitedFetch", "refreshTokens"],
  "actions": ["beginSignIn", "rowsOf", "sessionRows", "onSessionEnd", "whileValid", "startStepUp"],
  "options": [
    "confirmSignIn",
    "beginInitiated",
    "sendTooManyRequests",
    "authOperation",
    "verifiedResponse",
    "withoutSignal",
    "logoutClaims",
  ],
};

/**
 * The most modules of this project at the start: one that is for few applications has to be loaded later. In the npm
 * package they are joined.
 */
const MOST_MODULES = process.versions.deno ? 172 : 8;

/** What a process loaded. */
interface Loaded {
  /** The modules of this project, tests aside. */
  readonly modules: readonly string[];
  readonly packages: ReadonlySet<string>;
  readonly functions: ReadonlySet<string>;
  /** Whether Node loaded its `fetch`, which takes as long as all of this project. */
  readonly fetch: boolean;
}

/** Starts an application in a process of its own, which V8 says of what it loaded. */
async function start(...args: string[]): Promise<Loaded> {
  const directory = await mkdtemp(join(tmpdir(), "fastify-authjs-start-"));
  try {
    const script = fileURLToPath(new URL("../support/start_process.ts", import.meta.url));
    const [flags, variable] = process.versions.deno
      ? [["run", "-A", ...denoFlags()], "DENO_COVERAGE_DIR"] as const
      : [process.execArgv.filter((flag) => !/^--(?:test|import)/.test(flag)), "NODE_V8_COVERAGE"] as const;
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, script, ...args], {
      env: { ...process.env, [variable]: directory },
    });
    const files = await Promise.all(
      (await readdir(directory)).map((file) => readFile(join(directory, file), "utf8")),
    );
    return { ...loadedIn(files), fetch: stdout.trim() === "true" };
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** V8's report of one script, or of several. */
interface Report {
  result?: Report[];
  url?: string;
  functions?: { functionName: string }[];
}

/** Of the checkout, or of the installed package. */
function isOwn(url: string): boolean {
  if (!process.versions.deno) return url.includes("/node_modules/fastify-authjs/");
  const checkout = new URL("../../", import.meta.url).href;
  return url.startsWith(checkout) && !/^(?:tests|node_modules)\//.test(url.slice(checkout.length));
}

function loadedIn(files: readonly string[]): Omit<Loaded, "fetch"> {
  const scripts = files.map((file): Report => JSON.parse(file)).flatMap((report) => report.result ?? report);
  const own = scripts.filter(({ url = "" }) => isOwn(url));
  const packages = scripts.flatMap(({ url = "" }) =>
    /(?:node_modules|registry\.npmjs\.org)\/((?:@[^/]+\/)?[^/]+)(?!.*\/node_modules\/)/.exec(url)?.[1] ?? []
  );
  return {
    modules: own.map(({ url = "" }) => url),
    packages: new Set(packages),
    functions: new Set(
      own.flatMap(({ functions = [] }) => functions.map(({ functionName }) => functionName)),
    ),
  };
}

Deno.test("an application starts without what only requests or other options need", async () => {
  const { modules, packages, functions, fetch } = await start();
  for (const [what, names] of Object.entries(LATER)) {
    assertEquals(names.filter((name) => functions.has(name)), [], what);
  }
  assert(functions.has("resolveConfig"), "what is needed is found");
  const features = modules.filter((module) => /\/features\/\w+\/mod\.ts$/.test(module));
  assertEquals(features, [], "features that are not configured");
  assert(modules.length <= MOST_MODULES, `${modules.length} modules are loaded:\n${modules.join("\n")}`);
  assert(packages.has("fastify"), "packages are found");
  assertEquals(["@remix-run/html-template", "negotiator"].filter((name) => packages.has(name)), []);
  assertEquals(fetch, false, "fetch");
});

Deno.test("V8 reads no regular expression with Unicode classes at the start", async () => {
  const { modules } = await start();
  const literal = /\/[^/\n]*\\p\{.*\/[a-z]*[uv]/;
  for (const module of modules) {
    const code = await readFile(new URL(module), "utf8");
    assertEquals(literal.exec(code)?.[0], undefined, `${module}: each takes milliseconds, use lazyPattern()`);
  }
});

Deno.test("the texts of other languages, and logos, are read with the first page", async () => {
  const { modules } = await start();
  for (const module of modules) {
    assert(!/"[A-Za-z\d+/]{4000,}/.test(await readFile(new URL(module), "utf8")), module);
  }
});

Deno.test("the first request loads what it needs", async () => {
  const { functions, packages } = await start("/auth/csrf");
  assert(functions.has("answerRequest") && functions.has("csrfAnswer"));
  assertEquals(["renderPage", "handleCallback", "loadAssets"].filter((name) => functions.has(name)), []);
  assert(!packages.has("@remix-run/html-template"));
});

Deno.test("what chooses the language is loaded with the first page", async () => {
  const { packages, functions } = await start("/auth/csrf");
  assertEquals([packages.has("negotiator"), functions.has("preferredLanguage")], [false, false]);
  const page = await start("/auth/signin");
  assertEquals([page.packages.has("negotiator"), page.functions.has("preferredLanguage")], [true, true]);
});
