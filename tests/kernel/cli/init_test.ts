/** `init`: what it writes is a project whose types are right and whose tests pass. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { PassThrough } from "node:stream";
import { init as initIn } from "../../../src/cli/init/init.ts";
import { askForRest, type Given, type Terminal } from "../../../src/cli/init/choices.ts";
import { PROVIDERS } from "../../../src/cli/init/providers.ts";
import { run } from "../../../src/cli/run.ts";
import { thoroughTest } from "../../support/thorough.ts";

const root = new URL("../../../", import.meta.url);
const config = JSON.parse(await readFile(new URL("deno.json", root), "utf8"));
const packages = new URL("scripts/packages/", root);

async function temporary(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), "fastify-authjs-init-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

/** Every file of a directory, by its path in there. */
async function filesIn(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = paths.sort().map(async (path) =>
    [path.slice(directory.length + 1), await readFile(path, "utf8")] as const
  );
  return Object.fromEntries(await Promise.all(files));
}

/** Runs `init` for a project that succeeds. */
async function init(directory: string, ...args: string[]): Promise<string> {
  const { code, output, complaint } = await run(["init", directory, "--yes", ...args]);
  assertEquals([code, complaint], [0, ""]);
  return output;
}

/** A configuration in which each project has its own imports, and this checkout is the package. */
async function useCheckout(directory: string, names: readonly string[]): Promise<string[]> {
  const exports = Object.entries<string>(config.exports).map(([name, path]) =>
    [name.replace(/^\./, "fastify-authjs"), new URL(path, root).href] as const
  );
  const { imports: all } = JSON.parse(await readFile(new URL("deno.json", packages), "utf8"));
  const scopes: Record<string, unknown> = { [root.href]: all };
  for (const name of names) {
    const { imports } = JSON.parse(await readFile(join(directory, name, "deno.json"), "utf8"));
    assertEquals(imports["fastify-authjs"], `jsr:${config.name}@^${config.version}`);
    scopes[`./${name}/`] = { ...imports, ...Object.fromEntries(exports) };
  }
  const compilerOptions = { strict: true, noUncheckedIndexedAccess: true };
  const { jsr: _jsr, workspace: _workspace, ...lock } = JSON.parse(
    await readFile(new URL("deno.lock", packages), "utf8"),
  );
  const npm = Object.entries(lock.specifiers).filter(([name]) => name.startsWith("npm:"));
  await writeFile(join(directory, "deno.json"), JSON.stringify({ scopes, compilerOptions }));
  await writeFile(
    join(directory, "deno.lock"),
    JSON.stringify({ ...lock, specifiers: Object.fromEntries(npm) }),
  );
  return ["--config", join(directory, "deno.json")];
}

function deno(directory: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const { AUTH_SECRET: _, AUTH_URL: __, ...env } = process.env;
  const options = { cwd: directory, timeout: 300_000, env: { ...env, NO_COLOR: "1" } };
  return new Promise((resolve) => {
    const child = execFile(Deno.execPath(), args, options, (_error, output, complaint) => {
      resolve({ code: child.exitCode, output: output + complaint });
    });
  });
}

/** A project has one of the two providers for passkeys. */
const ALL = PROVIDERS.map(({ module }) => module).filter((module) => module !== "webauthn").join();

/** Arguments that together have every template, by the name of the project. */
const PROJECTS: Record<string, string[]> = {
  one: ["--providers", "github"],
  every: ["--providers", ALL, "--database", "libsql"],
  password: ["--providers", "credentials"],
  passkey: ["--providers", "passkey,keycloak", "--database", "libsql"],
  postgres: ["--providers", "webauthn,credentials,resend", "--database", "postgres"],
};

thoroughTest("init: projects for Deno have right types, are formatted, and pass their own tests", async () => {
  await using directory = await temporary();
  const names = Object.keys(PROJECTS);
  const flags: string[] = [];
  for (const name of names) {
    await init(join(directory.path, name), "--runtime", "deno", ...PROJECTS[name]!);
    const own = JSON.parse(await readFile(join(directory.path, name, "deno.json"), "utf8"));
    assertEquals(own.links.map((link: string) => join(directory.path, name, link) + "/"), [
      fileURLToPath(root),
    ]);
    const { tasks } = own;
    flags.push(...tasks.test.split(" ").filter((flag: string) => flag.startsWith("--allow-")));
  }
  const sources = names.flatMap((name) => [`${name}/src`, `${name}/test`]);
  assertEquals(await deno(directory.path, ["lint", "--quiet", ...sources]), { code: 0, output: "" });
  assertEquals(await deno(directory.path, ["fmt", "--quiet", "--check", ...sources]), {
    code: 0,
    output: "",
  });

  const checkout = await useCheckout(directory.path, names);
  assertEquals(await deno(directory.path, ["check", "--quiet", ...checkout, ...sources]), {
    code: 0,
    output: "",
  });
  const environment = names.map((name) => `--env-file=${name}/.env.test`);
  const test = ["test", "--no-check", ...new Set(flags), ...environment, ...checkout, ...names];
  const { code, output } = await deno(directory.path, test);
  assertEquals(code, 0, output);
  assertStringIncludes(output, "20 passed | 0 failed");
});

/** What `init` says if it writes nothing. */
async function refusal(args: string[]): Promise<string> {
  await using directory = await temporary();
  const { code, output, complaint } = await run(["init", join(directory.path, "new"), "--yes", ...args]);
  assertEquals([code, output], [2, ""]);
  assertEquals(await readdir(directory.path), []);
  return complaint;
}

const REFUSALS: [what: string, args: string[], message: RegExp][] = [
  ["a misspelled provider", ["--providers", "githb,google"], /no provider "githb": did you mean github\?/],
  ["a provider by another name", ["--providers", "entra"], /did you mean microsoft-entra-id\?/],
  [
    "a provider that is like none",
    ["--providers", "qqqqqqqq"],
    /no provider "qqqqqqqq": docs\/providers\.md/,
  ],
  ["every wrong provider", ["--providers", "gogle,goolge"], /"gogle": .*google.*\n.*"goolge": .*google/],
  ["no provider", ["--providers", ","], /needs a provider, such as github/],
  ["another runtime", ["--runtime", "bun"], /no runtime "bun": use node or deno\./],
  ["another database", ["--database", "mysql"], /no database "mysql": use none, libsql or postgres\./],
  [
    "sign-in links without a database",
    ["--providers", "resend", "--database", "none"],
    /resend needs a database/,
  ],
  ["passkeys alone", ["--providers", "passkey"], /--providers passkey,github/],
  [
    "both kinds of passkeys",
    ["--providers", "passkey,webauthn,github"],
    /Choose one of passkey and webauthn/,
  ],
  ["two directories", ["another"], /init takes one directory/],
];

for (const [what, args, message] of REFUSALS) {
  Deno.test(`init refuses ${what}, and writes nothing`, async () => {
    assertMatch(await refusal(args), message);
  });
}

Deno.test("init makes a secret for each project, and keeps it out of all but .env", async () => {
  await using directory = await temporary();
  const secrets: string[] = [];
  for (const name of ["one", "two"]) {
    const path = join(directory.path, name);
    await init(path, "--runtime", "node", "--providers", "credentials");
    const { ".env": own = "", ...others } = await filesIn(path);
    const made = [...own.matchAll(/^AUTH_SECRET=(\S{20,})$/gm)].map(([, value]) => value!);
    assertEquals(made.length, 1);
    for (const value of made) assert(Object.values(others).every((text) => !text.includes(value)));
    assertMatch(others[".gitignore"]!, /^\.env$/m);
    assertMatch(others[".env.example"]!, /^AUTH_SECRET=$/m);
    if (process.platform !== "win32") assertEquals((await stat(join(path, ".env"))).mode & 0o777, 0o600);
    secrets.push(...made);
  }
  assertEquals(new Set(secrets).size, 2);
});

Deno.test("init says what to install, to register and to set, and so does the README", async () => {
  await using directory = await temporary();
  const path = join(directory.path, "shop");
  const output = await init(path, "--runtime", "node", "--providers", "github,ory-hydra,resend");
  const readme = await readFile(join(path, "README.md"), "utf8");
  assertStringIncludes(output, `cd ${path}`);
  for (const text of [output, readme]) {
    assertStringIncludes(text, "npm install");
    assertStringIncludes(text, "http://localhost:3000/auth/callback/github");
    assertStringIncludes(text, "http://localhost:3000/auth/callback/hydra");
    for (const name of ["AUTH_GITHUB_SECRET", "AUTH_HYDRA_ISSUER", "AUTH_RESEND_KEY", "EMAIL_FROM"]) {
      assertStringIncludes(text, name);
    }
  }
  assertEquals(JSON.parse(await readFile(join(path, "package.json"), "utf8")).name, "shop");
});

Deno.test("init leaves a directory with files alone; with --force it says what it replaced", async () => {
  await using directory = await temporary();
  const { path } = directory;
  await mkdir(join(path, ".git"));
  await writeFile(join(path, "README.md"), "mine");
  await writeFile(join(path, ".env"), "AUTH_SECRET=mine");
  await writeFile(join(path, "notes.txt"), "mine");

  const { code, complaint } = await run(["init", path, "--yes"]);
  assertEquals(code, 2);
  assertMatch(complaint, /is not empty \(\.env, README\.md, notes\.txt\): .*--force/);
  assertEquals(Object.keys(await filesIn(path)), [".env", "README.md", "notes.txt"]);

  const output = await init(path, "--force");
  assertMatch(output, /Replaced, since they were there before: README\.md\nKept as it was: \.env/);
  const files = await filesIn(path);
  assertEquals([files[".env"], files["notes.txt"]], ["AUTH_SECRET=mine", "mine"]);
  assertStringIncludes(files["README.md"]!, "# ");

  // What is the same is neither replaced nor named
  assert(!(await init(path, "--force")).includes("Replaced"));
});

Deno.test("init takes an empty name for this directory, which it leaves alone if it has files", async () => {
  await using directory = await temporary();
  const { path } = directory;
  const before = process.cwd();
  process.chdir(path);
  try {
    assertMatch(await init(""), /^\d+ files were written to "\."\./);
    await writeFile("README.md", "mine");
    const { code, complaint } = await run(["init", "", "--yes"]);
    assertEquals([code, await readFile("README.md", "utf8")], [2, "mine"]);
    assertStringIncludes(complaint, "is not empty");
  } finally {
    process.chdir(before);
  }
});

Deno.test("init names the project as npm takes it, and takes a provider that is said twice once", async () => {
  await using directory = await temporary();
  const path = join(directory.path, "_My Shop!");
  await init(path, "--runtime", "node", "--providers", "github,GitHub");
  const files = await filesIn(path);
  assertEquals(JSON.parse(files["package.json"]!).name, "my-shop");
  assertEquals(files["src/auth.ts"]!.match(/providers\/github"/g)?.length, 1);
});

Deno.test("init takes every --providers, and quotes a directory as shells take it", async () => {
  await using directory = await temporary();
  const path = join(directory.path, "my shop's");
  const output = await init(path, "--runtime", "node", "--providers", "github", "--providers", "google");
  assertStringIncludes(output, `\n  cd "${path}"\n`);
  assertStringIncludes(output, "callback/github");
  assertStringIncludes(output, "callback/google");
});

Deno.test("init writes nothing if a file is in the way", async () => {
  await using directory = await temporary();
  const path = join(directory.path, "src");
  await writeFile(path, "mine");
  for (
    const [args, message] of [
      [[path], /src" is a file, or in one: name a directory/],
      [[join(path, "sub")], /is a file, or in one: name a directory/],
      [[directory.path, "--force"], /app\.ts" cannot be a file: a part of its path is one/],
    ] as const
  ) {
    const { code, output, complaint } = await run(["init", ...args, "--yes"]);
    assertEquals([code, output], [2, ""]);
    assertMatch(complaint, message);
  }
  await rm(path);
  await mkdir(join(directory.path, "README.md"));
  assertMatch(
    (await run(["init", directory.path, "--yes", "--force"])).complaint,
    /README\.md" cannot be a file: it is a directory/,
  );
  assertEquals(await readdir(directory.path), ["README.md"]);
});

Deno.test("init says if Auth.js advises against a provider", async () => {
  await using directory = await temporary();
  const { module } = PROVIDERS.find(({ deprecated, type }) => deprecated && type === "oidc")!;
  const output = await init(join(directory.path, "old"), "--providers", `${module},github`);
  assertStringIncludes(output, `Auth.js advises against "${module}"`);
  assert(!output.includes('advises against "github"'));
});

/** A terminal in which lines are typed, each when it is asked for. */
function typing(lines: string[]): { readonly terminal: Terminal; readonly shown: () => string } {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = "";
  // A person types when asked
  output.on("data", (text) => {
    shown += text;
    if (!String(text).endsWith(": ")) return;
    const line = lines.shift();
    line === undefined ? input.end() : input.write(`${line}\n`);
  });
  return { terminal: { input, output }, shown: () => shown };
}

/** Asks, with lines that are typed as the answers. */
async function ask(given: Partial<Given>, lines: string[]) {
  const { terminal, shown } = typing(lines);
  const nothing = { directory: undefined, runtime: undefined, providers: undefined, database: undefined };
  const answers = await askForRest({ ...nothing, ...given }, "node", terminal).catch(String);
  return { answers, shown: shown() };
}

Deno.test("init asks for what is not said, takes defaults, and asks again if an answer is wrong", async () => {
  const { answers, shown } = await ask({ directory: "here" }, [
    "",
    "githb",
    "github, nodemailer",
    "none",
    "",
  ]);
  assert(typeof answers === "object");
  const ids = answers.providers.map(({ id }) => id);
  assertEquals({ ...answers, providers: ids }, {
    directory: "here",
    runtime: "node",
    providers: ["github", "nodemailer"],
    database: "libsql",
  });
  assertMatch(shown, /did you mean github\?\nProviders/);
  assertMatch(shown, /nodemailer needs a database: .*\nDatabase/);
  assert(!shown.includes("Directory"));
});

Deno.test("init takes ~ in an answer for the home directory", async () => {
  const { answers } = await ask({}, ["~/shop", "node", "github", "none"]);
  assertEquals((answers as { directory: string }).directory, `${homedir()}/shop`);
});

Deno.test("init refuses a directory with files before it asks, or once it is answered", async () => {
  await using directory = await temporary();
  await writeFile(join(directory.path, "notes.txt"), "mine");
  const said = typing([]);
  await assertRejects(() => initIn({ directory: directory.path }, said.terminal), Error, "is not empty");
  assertEquals(said.shown(), "");
  const answered = typing([directory.path, "node", "github", "none"]);
  await assertRejects(() => initIn({}, answered.terminal), Error, "is not empty");
  assertEquals(await readdir(directory.path), ["notes.txt"]);
});

Deno.test("init writes nothing if its questions are left unanswered", async () => {
  assertMatch(String((await ask({}, ["here", "deno"])).answers), /Not all questions were answered/);
});

Deno.test("a new project begins with the versions that this package is tested with", async () => {
  const { imports } = JSON.parse(await readFile(new URL("deno.json", packages), "utf8"));
  await using directory = await temporary();
  await init(directory.path, "--runtime", "node", "--providers", ALL, "--database", "postgres");
  const { dependencies, devDependencies } = JSON.parse(
    await readFile(join(directory.path, "package.json"), "utf8"),
  );
  const { "fastify-authjs": self, ...ranges } = { ...dependencies, ...devDependencies };
  assertEquals(self, `^${config.version}`);
  const tested = Object.entries(ranges).filter(([name]) => !name.startsWith("@types/"));
  assertEquals(tested.length, 10);
  for (const [name, range] of tested) assertEquals(imports[name], `npm:${name}@${range}`);
});

Deno.test("a new project has the tables that schema prints", async () => {
  await using directory = await temporary();
  for (const [database, dialect] of [["libsql", "sqlite"], ["postgres", "postgres"]] as const) {
    const path = join(directory.path, database);
    await init(path, "--database", database);
    const schema = await readFile(join(path, "src/schema.ts"), "utf8");
    for (const format of ["drizzle", "sql"]) {
      assertStringIncludes(schema, (await run(["schema", format, dialect])).output.trim());
    }
  }
});
