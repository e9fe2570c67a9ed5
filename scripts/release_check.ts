/**
 * Holds a release back whose papers disagree: `deno task check:release v1.2.3` passes where the tag, the version in
 * deno.json and the newest heading of CHANGELOG.md are the same, and the package names the repository it comes from.
 */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { packageJson } from "./package_json.ts";

/** What must agree. */
export interface Release {
  /** The tag, such as `v1.2.3`. */
  tag: string;
  /** The version in deno.json. */
  version: string;
  /** The text of CHANGELOG.md. */
  changelog: string;
  /** Where package.json says the package comes from. */
  repository: string;
  /** `owner/name` of the repository that runs the release, where one does: npm's provenance compares the two. */
  runningRepository?: string | undefined;
}

/** Names everything that disagrees; nothing where the release may go out. */
export function releaseFaults(release: Release): string[] {
  const { tag, version, changelog, repository, runningRepository } = release;
  const faults = [];
  if (tag !== `v${version}`) {
    faults.push(`the tag is ${tag}, and deno.json's version ${version} asks for v${version}`);
  }
  const heading = changelog.match(/^## (.*)$/m)?.[1] ?? "";
  const [, released, date] = heading.match(/^\[?(\d+\.\d+\.\d+[^\s\]]*)\]?(?:.*?\b(\d{4}-\d\d-\d\d)\b)?/) ??
    [];
  if (released !== version) faults.push(`the newest heading of CHANGELOG.md is "${heading}", not ${version}`);
  else if (!date) faults.push(`the heading of ${version} in CHANGELOG.md has no date`);
  if (runningRepository && !repository.endsWith(`github.com/${runningRepository}.git`)) {
    faults.push(`package.json names the repository ${repository}, and this is ${runningRepository}`);
  }
  return faults;
}

async function main(): Promise<void> {
  const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), "utf8");
  const config = JSON.parse(await read("deno.json"));
  const { repository } = packageJson(config) as { repository?: { url: string } };
  const faults = releaseFaults({
    tag: process.argv[2] ?? process.env.GITHUB_REF_NAME ?? "",
    version: config.version,
    changelog: await read("CHANGELOG.md"),
    repository: repository?.url ?? "",
    runningRepository: process.env.GITHUB_REPOSITORY,
  });
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
  console.log(`${config.version} can be released`);
}

if (import.meta.main) await main();
