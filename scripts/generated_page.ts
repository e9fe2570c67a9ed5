/**
 * Pages of docs/ that are generated: a script makes their text, and writes it or, with `--check`, compares it.
 *
 * @module
 */
const docs = new URL("../docs/", import.meta.url);

/** A table of Markdown. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** Formats a page as the repository formats its files. */
async function format(name: string, text: string): Promise<string> {
  const config = new URL("../deno.json", import.meta.url).pathname;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--config", config, "--ext", "md", "-"],
    stdin: "piped",
    stdout: "piped",
  });
  const process = command.spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await process.output();
  if (!success) throw new Error(`deno fmt could not format docs/${name}`);
  return new TextDecoder().decode(stdout);
}

/**
 * Writes a page if its text differs.
 *
 * @param name Its name below docs/.
 * @param text Its text, unformatted.
 * @param check Whether to write nothing, and to fail if the page is stale.
 * @returns The exit code.
 */
export async function writePage(name: string, text: string, check: boolean): Promise<number> {
  const page = new URL(name, docs);
  const formatted = await format(name, text);
  if (await Deno.readTextFile(page).catch(() => "") === formatted) {
    console.log(`docs/${name} is up to date`);
    return 0;
  }
  if (check) {
    console.error(`docs/${name} is stale: run \`deno task generate:docs\``);
    return 1;
  }
  await Deno.mkdir(docs, { recursive: true });
  await Deno.writeTextFile(page, formatted);
  console.log(`docs/${name} is written`);
  return 0;
}
