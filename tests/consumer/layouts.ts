/** Type-checks an app from which the packages of its dependencies are hidden: pnpm's strict layout, and Yarn PnP. */
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeProject, type Manifest } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";
import { checkWith } from "./types.ts";

/** A package manager, by the name of its row. */
interface Layout {
  /** How `npx` runs it. */
  readonly manager: string;
  /** Its settings, by the file they are in. */
  readonly files: Readonly<Record<string, string>>;
  readonly install: readonly string[];
  readonly tsc: readonly string[];
}

export const LAYOUTS: Readonly<Record<string, Layout>> = {
  "pnpm 10": {
    manager: "pnpm@10",
    files: {},
    // Without the directory in which packages also find what they do not declare
    install: ["install", "--ignore-scripts", "--config.hoist=false"],
    tsc: ["exec", "tsc"],
  },
  "Yarn 4 PnP": {
    manager: "@yarnpkg/cli-dist@4",
    files: {
      ".yarnrc.yml": "nodeLinker: pnp\nenableScripts: false\nenableTelemetry: false\n",
      // A project of its own, whatever lies in the directories above
      "yarn.lock": "",
    },
    install: ["install", "--no-immutable"],
    tsc: ["tsc"],
  },
};

/** Installs the tarball, and compiles the app of the fixtures against what the package manager shows to it. */
export async function checkLayout(
  { manager, files, install, tsc }: Layout,
  directory: string,
  tarball: string,
  manifest: Manifest,
): Promise<Result> {
  const project = await makeProject(directory);
  await copyFile(tarball, join(project, "package.tgz"));
  const dependencies = { "fastify": "5", "fastify-authjs": "file:./package.tgz" };
  const devDependencies = { "@types/node": "22", "typescript": "5" };
  const own = { name: "consumer", private: true, type: "module", dependencies, devDependencies };
  for (const [name, text] of Object.entries({ ...files, "package.json": JSON.stringify(own) })) {
    await writeFile(join(project, name), text);
  }
  const npx = (args: readonly string[]) => ["-y", manager, ...args];
  await run("npx", npx(install), { cwd: project });
  return await checkWith("npx", npx(tsc), "NodeNext", project, manifest);
}
