/**
 * Checks every TypeScript snippet of the README and of docs/: all of them compile in strict mode. Those that make a
 * server of their own run up to the point where it would listen, and answer as `snippet_uses.ts` says.
 *
 * A fence marked `ts ignore` is left out. A snippet may use the names in `snippet_context.ts`.
 */
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { schemaOf } from "../src/cli/schema.ts";
import { runDeno } from "./deno.ts";
import { ENVIRONMENT, FILES, GLOBALS, REPLY } from "./snippet_context.ts";

const root = new URL("../", import.meta.url);

/** A snippet, with the page and the line it begins at. */
interface Snippet {
  page: string;
  line: number;
  code: string;
}

async function pages(): Promise<string[]> {
  const docs = await readdir(new URL("docs/", root), { recursive: true });
  return ["README.md", ...docs.filter((name) => name.endsWith(".md")).sort().map((name) => `docs/${name}`)];
}

/** The TypeScript snippets of a page. A fence may be indented, in a list. */
function snippetsOf(page: string, text: string): Snippet[] {
  const fences = text.matchAll(/^( *)```ts\n([\s\S]*?)^\1```$/gm);
  return [...fences].map(({ index, 1: indent = "", 2: code = "" }) => ({
    page,
    line: text.slice(0, index).split("\n").length,
    code: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** Whether a snippet is a whole program with a server. */
function isComplete({ code }: Snippet): boolean {
  return /^import Fastify\b.* from "fastify";$/m.test(code);
}

/** The number of a snippet among the complete ones of its page. */
function numberOnPage(snippet: Snippet, all: readonly Snippet[]): number {
  return all.filter((other) => other.page === snippet.page && isComplete(other)).indexOf(snippet);
}

/** Whether it declares what a request or a reply has: two pages may say it differently, so each is compiled alone. */
function declaresMembers({ code }: Snippet): boolean {
  return /interface Fastify(?:Reply|Request)\b/.test(code);
}

/** Each snippet has a folder, with the files beside it. */
function fileName({ page, line }: Snippet): string {
  return `${page.replace(/\.md$/, "").replace(/^docs\//, "").replaceAll("/", "_")}_${line}/snippet.ts`;
}

/** What the page has `schema` print into files beside the snippet. */
function filesBeside({ code }: Snippet): Readonly<Record<string, string>> {
  if (!code.includes(' from "./schema.ts"')) return {};
  const dialect = code.includes(' from "drizzle-orm/libsql"') ? "sqlite" : "postgres";
  return { "schema.ts": schemaOf("drizzle", dialect, []), "schema.sql": schemaOf("sql", dialect, []) };
}

/** A schema of PostgreSQL for the snippets alone, which is deleted at the end. */
async function openSchema(server: string | undefined): Promise<AsyncDisposable & { url: string }> {
  if (server === undefined) return { url: "", async [Symbol.asyncDispose]() {} };
  const name = `snippets_${crypto.randomUUID().replaceAll("-", "")}`;
  const pool = new pg.Pool({ connectionString: server });
  await pool.query(`create schema ${name}`);
  const url = new URL(server);
  url.searchParams.set("options", `-c search_path=${name}`);
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await pool.query(`drop schema ${name} cascade`);
      await pool.end();
    },
  };
}

async function main(): Promise<number> {
  const snippets: Snippet[] = [];
  for (const page of await pages()) {
    snippets.push(...snippetsOf(page, await Deno.readTextFile(new URL(page, root))));
  }
  const hasDatabase = Deno.env.has("TEST_POSTGRES_URL");
  const complete = snippets.filter(isComplete).filter(({ code }) =>
    hasDatabase || !code.includes("process.env.DATABASE_URL")
  );
  const temporary = await Deno.makeTempDir();
  try {
    const directory = `${temporary}/snippets/`;
    const write = async (name: string, text: string) => {
      await Deno.mkdir(new URL("./", `file://${directory}${name}`), { recursive: true });
      await Deno.writeTextFile(`${directory}${name}`, text);
      return `${directory}${name}`;
    };
    const globals = await write("globals.d.ts", GLOBALS);
    for (const [name, text] of Object.entries(FILES)) await write(name, text);
    const together = [globals, await write("reply.d.ts", REPLY)];
    const programs = [together];
    for (const snippet of snippets) {
      const file = await write(fileName(snippet), `${snippet.code}\nexport {};\n`);
      for (const [name, text] of Object.entries(filesBeside(snippet))) {
        await write(`${dirname(fileName(snippet))}/${name}`, text);
      }
      declaresMembers(snippet) ? programs.push([globals, file]) : together.push(file);
    }
    for (const files of programs) {
      const code = await runDeno(["check", "--quiet", ...files]);
      if (code !== 0) return code;
    }
    await using database = await openSchema(Deno.env.get("TEST_POSTGRES_URL"));
    const environment = { ...ENVIRONMENT, DATABASE_URL: database.url };
    const numbered = complete.map((snippet) =>
      [snippet.page, numberOnPage(snippet, snippets), `${directory}${fileName(snippet)}`].join(" ")
    );
    const runner = fileURLToPath(new URL("run_snippets.ts", import.meta.url));
    const ran = await runDeno(["run", "--quiet", "-A", runner, ...numbered], environment);
    if (ran === 0) {
      console.log(`${snippets.length} snippets compile, ${complete.length} of them answer as they should`);
    }
    return ran;
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main());
