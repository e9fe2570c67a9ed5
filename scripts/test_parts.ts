/** Runs all tests in some processes at a time. */
import { readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { stripVTControlCharacters } from "node:util";

/** In how many parts they run. */
const PARTS = 12;

/** Every test file of the checkout, in order. */
export async function testFiles(root: URL): Promise<string[]> {
  const names = await readdir(new URL("tests/", root), { recursive: true });
  return names.filter((name) => name.endsWith("_test.ts")).sort().map((name) => `tests/${name}`);
}

/** The test files in parts of about as much text, those first that take longest: they are in the last folders. */
export async function partsOfTests(root: URL): Promise<string[][]> {
  const files = await testFiles(root);
  const sizes = files.map((file) => Deno.statSync(new URL(file, root)).size);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const parts = Array.from({ length: PARTS }, (): string[] => []);
  let before = 0;
  for (const [index, file] of files.entries()) {
    parts[Math.floor(PARTS * before / total)]!.push(file);
    before += sizes[index]!;
  }
  return parts.reverse();
}

/**
 * Runs commands, one more at a time than there are processors, since most tests wait for servers. What they print is
 * shown in their order. Not `deno test --parallel`, which has one process, and so one environment, for all files.
 */
export async function runParts(commands: readonly Deno.Command[]): Promise<number> {
  const queue = [...commands];
  const outputs: Promise<string>[] = [];
  let code = 0;
  let shown: Promise<unknown> = Promise.resolve();
  const work = async () => {
    for (let command; (command = queue.shift()) !== undefined;) {
      const process = command.spawn();
      const output = showAfter(shown, process.stdout, Deno.stdout);
      shown = Promise.all([output, showAfter(shown, process.stderr, Deno.stderr)]);
      outputs.push(output);
      const status = await process.status;
      code = Math.max(code, status.code); // not in one expression: another part may have failed meanwhile
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, work));
  await shown;
  console.log(summaryOf((await Promise.all(outputs)).join(""), code));
  return code;
}

/** Adds up the summaries that `deno test` ends its runs with, and names what failed, which may be a whole file. */
function summaryOf(output: string, code: number): string {
  const text = stripVTControlCharacters(output);
  const count = (what: string) => {
    const counts = text.matchAll(new RegExp(`^(?:ok|FAILED) \\|.*?\\b(\\d+) ${what}`, "gm"));
    return [...counts].reduce((sum, [, number]) => sum + Number(number), 0);
  };
  const failures = count("failed") || Math.min(code, 1);
  const failed = new Set(text.match(/^.* => \.\/.*:\d+:\d+$/gm) ?? []);
  const ignored = count("ignored") > 0 ? `${count("ignored")} ignored\n` : "";
  return `\n${[...failed].join("\n")}\n${ignored}${count("passed")} passed, ${failures} failed`;
}

/** Shows what a process prints, and what came too early once its time has come. Gives all of it. */
async function showAfter(
  time: Promise<unknown>,
  from: ReadableStream<Uint8Array>,
  to: { writeSync(bytes: Uint8Array): number },
): Promise<string> {
  const decoder = new TextDecoder();
  const held: Uint8Array[] = [];
  const show = () => {
    for (const chunk of held.splice(0)) {
      for (let written = 0; written < chunk.length;) written += to.writeSync(chunk.subarray(written));
    }
  };
  let text = "";
  let hasCome = false;
  const released = time.finally(() => {
    hasCome = true;
    show();
  });
  for await (const chunk of from) {
    text += decoder.decode(chunk, { stream: true });
    held.push(chunk);
    if (hasCome) show();
  }
  await released;
  return text;
}
