/** A release goes out only if its papers agree. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { BUN_FLOOR, DENO_FLOOR, NODE_FLOOR, NODE_RANGE, packageJson, REPOSITORY } from "../../scripts/package_json.ts";
import { otherRepositories, readPapers, type Release, releaseFaults } from "../../scripts/release_check.ts";
import config from "../../deno.json" with { type: "json" };

const release: Release = {
  tag: "v1.2.3",
  version: "1.2.3",
  changelog: "# Changelog\n\n## [1.2.3] - 2026-01-31\n\n- Something.\n\n## [1.2.2] - 2026-01-01\n",
  repository: "git+https://github.com/owner/name.git",
  runningRepository: "owner/name",
  lock: JSON.stringify({ version: "5", jsr: { "@deno/dnt@0.43.2": { integrity: "00" } } }),
  papers: { "README.md": `https://github.com/${REPOSITORY}/actions and https://github.com/denoland/dnt` },
};

Deno.test("releaseFaults() finds none where tag, version and heading agree", () => {
  assertEquals(releaseFaults(release), []);
  assertEquals(
    releaseFaults({ ...release, changelog: "## 1.2.3 (2026-01-31)\n", runningRepository: undefined }),
    [],
  );
});

const faulty: [what: string, part: Partial<Release>, fault: string][] = [
  ["another tag", { tag: "v1.2.4" }, "the tag is v1.2.4, and deno.json's version 1.2.3 asks for v1.2.3"],
  [
    "a tag without its v",
    { tag: "1.2.3" },
    "the tag is 1.2.3, and deno.json's version 1.2.3 asks for v1.2.3",
  ],
  [
    "an older heading",
    { changelog: "## [1.2.2] - 2026-01-01\n" },
    'the newest heading of CHANGELOG.md is "[1.2.2] - 2026-01-01", not 1.2.3',
  ],
  [
    "unreleased changes above",
    { changelog: `## Unreleased\n\n${release.changelog}` },
    'the newest heading of CHANGELOG.md is "Unreleased", not 1.2.3',
  ],
  ["an empty changelog", { changelog: "" }, 'the newest heading of CHANGELOG.md is "", not 1.2.3'],
  [
    "a heading without a date",
    { changelog: "## 1.2.3\n" },
    "the heading of 1.2.3 in CHANGELOG.md has no date",
  ],
  [
    "a fork",
    { runningRepository: "another/name" },
    "package.json names the repository git+https://github.com/owner/name.git, and this is another/name",
  ],
  [
    "a lock file without the builder",
    { lock: JSON.stringify({ version: "5", specifiers: {} }) },
    "scripts/packages/deno.lock does not have dnt: run `deno task lock` where JSR answers, and commit it",
  ],
  [
    "a link to another repository",
    { papers: { "SECURITY.md": "https://github.com/another/fork/security/advisories/new" } },
    `SECURITY.md names another/fork, and the repository is ${REPOSITORY}`,
  ],
  [
    "a team of another owner",
    { papers: { ".github/CODEOWNERS": "* @another/team" } },
    `.github/CODEOWNERS names another, and the repository is ${REPOSITORY}`,
  ],
];

for (const [what, part, fault] of faulty) {
  Deno.test(`releaseFaults() names ${what}`, () => {
    assertEquals(releaseFaults({ ...release, ...part }), [fault]);
  });
}

Deno.test("every paper that names the repository names the one that package.json does", async () => {
  const papers = await readPapers();
  assertEquals(Object.entries(papers).flatMap(([path, text]) => otherRepositories(path, text)), []);
});

Deno.test("the badges of the README and the versions in docs/install.md are those of package.json", async () => {
  const readme = (await readPapers())["README.md"]!;
  const { engines, peerDependencies, license } = packageJson(config);
  assertEquals(engines, { node: "^20.19.0 || >=22.12.0", deno: `>=${DENO_FLOOR}`, bun: `>=${BUN_FLOOR}` });
  const fastify = peerDependencies.fastify!.replace("^", "");
  const badges = [...readme.matchAll(/img\.shields\.io\/badge\/([^)\s]+)-blue/g)].map(([, text = ""]) =>
    decodeURIComponent(text)
  );
  assertEquals(badges, [
    `node-${NODE_RANGE.replace("^", "").replace(">=", "≥ ")}`,
    `deno-≥ ${DENO_FLOOR}`,
    `fastify-≥ ${fastify}`,
    `licence-${license}`,
  ]);
  const versions = await Deno.readTextFile(new URL("../../docs/install.md", import.meta.url));
  const floors = { Node: NODE_FLOOR, Deno: DENO_FLOOR, Bun: BUN_FLOOR, Fastify: fastify };
  for (const [name, floor] of Object.entries(floors)) {
    const row = versions.match(new RegExp(`^\\| ${name} +\\| (\\S+) +\\| (.*?) +\\|$`, "m"));
    assertEquals(row?.[1], floor, `${name} from ${floor} on`);
    assertStringIncludes(row![2]!, floor, `${name} is tested with its oldest release`);
  }
});
