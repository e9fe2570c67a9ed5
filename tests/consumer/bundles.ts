/** Bundles a server with its packages, and runs it where none of them is installed. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { install, makeProject, readManifest } from "./consumer.ts";
import type { Matrix } from "./matrix.ts";
import { run, runFixture } from "./process.ts";

/** By their names on npm. */
const BUNDLERS = { esbuild: "esbuild@0.28", webpack: "webpack@5", bun: "bun@1" };

/**
 * Signs in to a server that was bundled, with each bundler.
 *
 * @param node The path of the Node that bundles and runs it.
 */
export async function checkBundles(
  matrix: Matrix,
  node: string,
  work: string,
  tarball: string,
): Promise<void> {
  const project = await makeProject(join(work, "bundles"));
  await install(project, ["fastify@5", tarball, ...Object.values(BUNDLERS)]);
  for (const name of Object.keys(BUNDLERS)) {
    const { version } = await readManifest(project, name);
    await matrix.check(`${name} ${version}`, "bundle", async () => {
      const directory = join(work, "bundled", name);
      await mkdir(directory, { recursive: true });
      await run(node, ["bundle.mjs", name, directory], { cwd: project });
      // The fixture has an OpenID provider, too, which nobody signs in with here.
      const env = { ISSUER: "http://127.0.0.1:1" };
      return await runFixture(node, ["server.mjs", "password"], { cwd: directory, env });
    });
  }
}
