/**
 * Holds a release back whose papers disagree: `deno task check:release v1.2.3` passes if the tag, the version in
 * deno.json and the newest heading of CHANGELOG.md are the same, the package names the repository it comes from, no file
 * links to another one, and the lock file fixes what builds the package.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { packageJson, REPOSITORY } from "./package_json.ts";

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
  /** `owner/name` of the repository that runs the release, if one does: npm's provenance compares the two. */
  runningRepository?: string | undefined;
  /** The text of scripts/packages/deno.lock. */
  lock: string;
  /** The files that may name the repository, by path. */
  papers: Record<string, string>;
}

/** Names everything that disagrees; nothing if the release may go out. */
export function releaseFaults(release: Release): string[] {
  const { tag, version, changelog, repository, runningRepository, lock, papers } = release;
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
  if (!Object.keys(JSON.parse(lock).jsr ?? {}).some((name) => name.startsWith("@deno/dnt@"))) {
    faults.push(
      "scripts/packages/deno.lock does not have dnt: run `deno task lock` where JSR answers, and commit it",
    );
  }
  for (const [path, text] of Object.entries(papers)) {
    for (const other of otherRepositories(path, text)) {
      faults.push(`${path} names ${other}, and the repository is ${REPOSITORY}`);
    }
  }
  return faults;
}

/** The repositories that a file takes for this one: those whose workflows or security pages it links to, and the owner of a team. */
export function otherRepositories(path: string, text: string): string[] {
  const [owner] = REPOSITORY.split("/");
  const links = text.matchAll(/github\.com\/([\w-]+\/[\w.-]+)\/(?:actions|security)\b/g);
  const teams = path.endsWith("CODEOWNERS") ? text.matchAll(/@([\w-]+)\/[\w-]+/g) : [];
  const others = [
    ...[...links].map(([, name = ""]) => name).filter((name) => name !== REPOSITORY),
    ...[...teams].map(([, name = ""]) => name).filter((name) => name !== owner),
  ];
  return [...new Set(others)];
}

/** The files at the root and in .github/ and docs/ for readers. */
export async function readPapers(): Promise<Record<string, string>> {
  const root = new URL("../", import.meta.url);
  const inDirectory = async (directory: string) => {
    const names = await readdir(new URL(directory, root), { recursive: directory !== "./" });
    return names.map((name) => join(directory, name).replaceAll("\\", "/"));
  };
  const paths = (await Promise.all(["./", ".github/", "docs/"].map(inDirectory))).flat()
    .filter((path) => /\.(?:md|yml)$|CODEOWNERS$/.test(path));
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(new URL(path, root), "utf8")])),
  );
}

async function main(): Promise<void> {
  const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), "utf8");
  const config = JSON.parse(await read("deno.json"));
  const { repository } = packageJson(config) as { repository?: { url: string } };
  const changelog = await read("CHANGELOG.md");
  // A rehearsal is before the day on which the newest entry gets its heading
  const heading = `## ${config.version} - ${new Date().toISOString().slice(0, 10)}`;
  const faults = releaseFaults({
    tag: process.argv[2] ?? process.env.GITHUB_REF_NAME ?? "",
    version: config.version,
    changelog: process.argv.includes("--rehearse") ? changelog.replace(/^## Unreleased$/m, heading) : changelog,
    repository: repository?.url ?? "",
    runningRepository: process.env.GITHUB_REPOSITORY,
    lock: await read("scripts/packages/deno.lock"),
    papers: await readPapers(),
  });
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) process.exit(1);
  console.log(`${config.version} can be released`);
}

if (import.meta.main) await main();
