/** A release goes out only where its papers agree. */
import { assertEquals } from "@std/assert";
import { type Release, releaseFaults } from "../scripts/release_check.ts";

const release: Release = {
  tag: "v1.2.3",
  version: "1.2.3",
  changelog: "# Changelog\n\n## [1.2.3] - 2026-01-31\n\n- Something.\n\n## [1.2.2] - 2026-01-01\n",
  repository: "git+https://github.com/owner/name.git",
  runningRepository: "owner/name",
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
    { runningRepository: "somebody/name" },
    "package.json names the repository git+https://github.com/owner/name.git, and this is somebody/name",
  ],
];

for (const [what, part, fault] of faulty) {
  Deno.test(`releaseFaults() names ${what}`, () => {
    assertEquals(releaseFaults({ ...release, ...part }), [fault]);
  });
}
