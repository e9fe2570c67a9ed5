/** Writes projects for Node with the installed command, and runs what their users run. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { install } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";

/** Arguments of `init` that together have every template, by the name of the project. */
const PROJECTS: Readonly<Record<string, readonly string[]>> = {
  plain: ["--providers", "github,keycloak"],
  libsql: ["--providers", "passkey,credentials,google", "--database", "libsql"],
  postgres: ["--providers", "webauthn,credentials,resend,notion", "--database", "postgres"],
};

/**
 * Writes the projects, installs what they ask for, checks their types and runs their tests.
 *
 * @param node The path of a Node that runs TypeScript.
 * @param app A project with the package installed.
 * @param work Where the new projects are made.
 */
export async function checkNewProjects(
  node: string,
  app: string,
  work: string,
  tarball: string,
): Promise<Result> {
  const result: Result = { passed: 0, failed: [] };
  const root = join(work, "new");
  const names = Object.keys(PROJECTS);
  const command = join(app, "node_modules/fastify-authjs/esm/src/cli/main.js");
  const separator = process.platform === "win32" ? ";" : ":";
  const env = { PATH: `${dirname(node)}${separator}${process.env.PATH}` };
  await mkdir(root);
  for (const name of names) {
    await run(node, [command, "init", name, "--yes", "--runtime", "node", ...PROJECTS[name]!], { cwd: root });
  }
  // One installation above all of them, with the tarball in place of the package of the registry
  const manifests = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(root, name, "package.json"), "utf8"))),
  );
  for (const { dependencies } of manifests) {
    const own: string = dependencies["fastify-authjs"];
    if (!own.startsWith("file:")) result.failed.push(`a project of the tarball depends on ${own}`);
  }
  const dependencies = Object.assign(
    {},
    ...manifests.flatMap((manifest) => [manifest.dependencies, manifest.devDependencies]),
  );
  await writeFile(join(root, "package.json"), JSON.stringify({ private: true, dependencies }));
  await install(root, [tarball]);
  for (const name of names) {
    const cwd = join(root, name);
    try {
      await run("npm", ["run", "check"], { cwd, env });
      const output = await run("npm", ["test"], { cwd, env });
      const [, count = "0"] = output.match(/^\S+ pass (\d+)$/m) ?? [];
      if (Number(count) < 3) throw new Error(`the tests did not run:\n${output}`);
      result.passed += Number(count);
    } catch (error) {
      result.failed.push(`${name}: ${error}`);
    }
  }
  return result;
}
