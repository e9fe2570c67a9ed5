/** The files that say what the project needs, and how it is run. */
import type { Choices } from "../choices.ts";
import { usesSmtp } from "../provider.ts";
import { NODE, type PackageName, SELF, TYPES, VERSIONS } from "../versions.ts";
import type { Variable } from "../variables.ts";

/** The packages that the project imports, and those of its tests. */
function packagesOf({ providers, database }: Choices): { used: PackageName[]; tested: PackageName[] } {
  const has = (type: string) => providers.some((provider) => provider.type === type);
  const orm: PackageName[] = ["@auth/drizzle-adapter", "drizzle-orm"];
  return {
    used: [
      "fastify",
      ...database === "libsql" ? [...orm, "@libsql/client"] as const : [],
      ...database === "postgres" ? [...orm, "pg"] as const : [],
      ...has("webauthn") ? ["@simplewebauthn/browser", "@simplewebauthn/server"] as const : [],
      ...has("credentials") ? ["@fastify/rate-limit"] as const : [],
      ...providers.some(usesSmtp) ? ["nodemailer"] as const : [],
    ],
    tested: database === "postgres" ? ["@electric-sql/pglite"] : [],
  };
}

/** `package.json`. */
export function packageJson(choices: Choices): string {
  const { used, tested } = packagesOf(choices);
  const types = Object.entries(TYPES)
    .filter(([name]) => name !== "@types/pg" || choices.database === "postgres");
  return toJson({
    name: choices.name,
    private: true,
    type: "module",
    engines: { node: NODE },
    scripts: {
      start: "node --env-file=.env src/server.ts",
      dev: "node --watch --env-file=.env src/server.ts",
      test: 'node --env-file=.env.test --test "test/*.test.ts"',
      check: "tsc",
      doctor: "fastify-authjs doctor src/server.ts --env-file .env",
    },
    dependencies: sorted({ "fastify-authjs": SELF, ...versionsOf(used) }),
    devDependencies: sorted({
      ...versionsOf(tested),
      ...Object.fromEntries(types),
      typescript: VERSIONS.typescript,
    }),
  });
}

/** `tsconfig.json`: Node runs the sources as they are, so the compiler checks and writes nothing. */
export const TSCONFIG = toJson({
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["src", "test"],
});

/** `deno.json`. */
export function denoJson(choices: Choices): string {
  const { used, tested } = packagesOf(choices);
  const npm = Object.entries(versionsOf([...used, ...tested]))
    .map(([name, range]) => [name, `npm:${name}@${range}`] as const);
  const run = `deno run ${permissionsOf(choices)}`;
  return toJson({
    tasks: {
      start: `${run} --env-file=.env src/server.ts`,
      dev: `${run} --watch --env-file=.env src/server.ts`,
      test: `deno test ${permissionsOf(choices)} --env-file=.env.test`,
      check: "deno check",
      doctor: "deno run -A --env-file=.env jsr:@fastify-authjs/plugin/cli doctor src/server.ts",
    },
    imports: sorted({ "fastify-authjs": `jsr:@fastify-authjs/plugin@${SELF}`, ...Object.fromEntries(npm) }),
    compilerOptions: { strict: true, noUncheckedIndexedAccess: true },
  });
}

/** What the project may do. libSQL has a native library, and writes its file. */
function permissionsOf({ database }: Choices): string {
  const common = "--allow-env --allow-net --allow-read --allow-sys";
  return database === "libsql" ? `${common} --allow-write --allow-ffi` : common;
}

/** `.gitignore`. */
export function gitignore({ runtime, database }: Choices): string {
  return [
    "# Secrets",
    ".env",
    ...runtime === "node" ? ["", "node_modules/"] : [],
    ...database === "libsql" ? ["", "local.db*"] : [],
    "",
  ].join("\n");
}

/** `.env.example`, `.env` and `.env.test`. */
export function environmentFile(variables: readonly Variable[], which: "example" | "own" | "test"): string {
  if (which === "test") {
    const values = variables.filter(({ test }) => test !== "").map(({ name, test }) => `${name}=${test}\n`);
    return `# For the tests alone: nothing in here is a secret.\n${values.join("")}`;
  }
  const values = variables.map(({ name, about, example, own = example }) =>
    `# ${about}\n${name}=${which === "own" ? own : example}\n`
  );
  return values.join("\n");
}

function versionsOf(names: readonly PackageName[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, VERSIONS[name]]));
}

function sorted(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1));
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
