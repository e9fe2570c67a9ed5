/**
 * Rehearses a release of the version in deno.json: `deno task release:rehearse` goes through what
 * `.github/workflows/release.yml` does after its gate, and publishes nothing. Goes on after a failure, and ends with the
 * counts.
 *
 * What only GitHub can do is not rehearsed: the provenance (npm signs what its workflow builds), JSR's own check of the
 * package, and the release page.
 *
 * @module
 */
import { readdir } from "node:fs/promises";
import config from "../deno.json" with { type: "json" };

const root = new URL("../", import.meta.url);

interface Step {
  readonly name: string;
  readonly command: string;
  readonly args: () => Promise<string[]> | string[];
}

const deno = Deno.execPath();

const STEPS: readonly Step[] = [
  {
    name: "tag, version, changelog, repository and lock file agree",
    command: deno,
    args: () => ["task", "check:release", `v${config.version}`, "--rehearse"],
  },
  { name: "the npm package is built", command: deno, args: () => ["task", "build:npm"] },
  {
    name: "the tarball is what SHA256SUMS says",
    command: "sh",
    args: () => ["-c", "cd dist && sha256sum --check SHA256SUMS"],
  },
  {
    name: "npm would take it",
    command: "npm",
    args: async () => ["publish", `./dist/${await tarball()}`, "--dry-run", "--access", "public"],
  },
  {
    name: "JSR would take it: no slow types, every file",
    command: deno,
    args: () => ["publish", "--dry-run", "--allow-dirty"],
  },
];

async function tarball(): Promise<string> {
  return (await readdir(new URL("dist/", root))).find((name) => name.endsWith(".tgz")) ?? "nothing.tgz";
}

let [passed, failed] = [0, 0];
for (const { name, command, args } of STEPS) {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: await args(),
    cwd: root,
    env: { NO_COLOR: "1", NPM_CONFIG_UPDATE_NOTIFIER: "false" },
  }).output();
  success ? passed++ : failed++;
  console.log(`${success ? "ok    " : "FAILED"} ${name}`);
  if (!success) console.log(new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
}
console.log(`\n${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
