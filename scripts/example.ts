/**
 * Runs an example from a clone of the repository: `deno task example trpc`. Its packages come from
 * `scripts/packages/`; `AUTH_SECRET`, and `AUTH_URL` or `AUTH_TRUST_HOST`, have values for development unless they are
 * set.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { writeNestConfig } from "../tests/support/examples.ts";
import { runDeno } from "./deno.ts";

const folder = new URL("../examples/", import.meta.url);

/** How those start that are not one file. */
const OTHERS: Record<string, () => Promise<string[]>> = {
  autoload: () =>
    run(
      // The command line of Fastify is in no lock file: nothing else uses it.
      "--no-lock",
      "--preload=tests/support/deno_signals.ts",
      "npm:fastify-cli@8.0.2",
      "start",
      `--port=${Deno.env.get("PORT") ?? 3000}`,
      "--log-level=info",
      "examples/autoload/app.ts",
    ),
  demo: () => run("examples/demo/main.ts"),
  mcp: () => run("examples/mcp/main.ts"),
  nestjs: async () => {
    const config = await Deno.makeTempFile({ suffix: ".json" });
    await writeNestConfig(12, config);
    return ["run", "--no-lock", `--config=${config}`, "-A", "examples/nestjs/main.mts"];
  },
  nginx: () => run("examples/nginx/app.ts"),
  react: () => run("examples/react/server.ts"),
  testing: () => Promise.resolve(["test", "-A", "examples/testing.ts"]),
};

/** `deno run` with these arguments. */
function run(...args: string[]): Promise<string[]> {
  return Promise.resolve(["run", "-A", ...args]);
}

if (import.meta.main) {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".ts") && name !== "auth.ts");
  const names = [...new Set([...files.map((name) => name.slice(0, -".ts".length)), ...Object.keys(OTHERS)])];
  const [name = ""] = Deno.args;
  if (!names.includes(name)) {
    console.error(`deno task example <name>, with one of ${names.sort().join(", ")}`);
    Deno.exit(2);
  }
  const env = {
    AUTH_SECRET: Deno.env.get("AUTH_SECRET") ?? randomBytes(33).toString("base64url"),
    ...Deno.env.get("AUTH_URL") === undefined && { AUTH_TRUST_HOST: "true" },
  };
  Deno.exit(await runDeno(await (OTHERS[name]?.() ?? run(`examples/${name}.ts`)), env));
}
