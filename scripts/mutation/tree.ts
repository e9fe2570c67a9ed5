/** A copy of the checkout in which mutants are tried, so that the checkout itself stays as it is. */
import { cpSync, existsSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";

/** How a test file ran on the sources as they are. */
export interface Baseline {
  readonly file: string;
  readonly milliseconds: number;
  /** How often it called each function, by the file and the name of the function. */
  readonly calls: Record<string, number>;
}

/** How many milliseconds one test file may take to be of use here. */
const SLOW_MS = 60_000;

/** What is built, and history. */
const LEFT_OUT = /[\\/](?:\.git|npm|dist|coverage|node_modules)$/;

/** The copy. */
export class Tree {
  readonly #root: string;
  readonly #config: string;

  /** @param directory What an earlier run left in it is replaced. */
  constructor(checkout: string, directory: string) {
    const config = Deno.env.get("CHECKOUT_CONFIG"); // which `scripts/deno.ts` has made
    if (!config) throw new Error("Start this with `deno task mutation`.");
    this.#root = join(directory, "tree");
    this.#config = this.path(basename(config));
    rmSync(this.#root, { recursive: true, force: true });
    cpSync(checkout, this.#root, { recursive: true, filter: (path) => !LEFT_OUT.test(path) });
  }

  /** The path of a file in the copy. */
  path(file: string): string {
    return join(this.#root, file);
  }

  /** The TypeScript files below a directory, with their texts. */
  sources(directory: string): [file: string, text: string][] {
    const names = readdirSync(this.path(directory), { recursive: true, encoding: "utf8" });
    const files = names.filter((name) => name.endsWith(".ts")).map((name) => `${directory}/${name}`);
    return files.sort().map((file) => [file, Deno.readTextFileSync(this.path(file))]);
  }

  /** Runs one test file. One that fails, or is slow, is shown to call nothing. */
  async baseline(file: string): Promise<Baseline> {
    const coverage = this.path("coverage");
    const began = performance.now();
    const passes = await this.passes(file, SLOW_MS, [`--coverage=${coverage}`, "--coverage-raw-data-only"]);
    const milliseconds = Math.round(performance.now() - began);
    const calls: Record<string, number> = {};
    for (const report of passes && existsSync(coverage) ? readdirSync(coverage) : []) {
      const { url, functions } = JSON.parse(Deno.readTextFileSync(join(coverage, report)));
      const source = url.split(`${this.#root}/src/`)[1];
      if (source === undefined) continue;
      for (const { functionName, ranges: [{ count }] } of functions) {
        const name = `src/${source} ${functionName}`;
        if (functionName !== "" && count > 0) calls[name] = (calls[name] ?? 0) + count;
      }
    }
    rmSync(coverage, { recursive: true, force: true });
    return { file, milliseconds, calls };
  }

  /** Whether the tests of a file pass in so many milliseconds. */
  async passes(file: string, limit: number, flags: string[] = []): Promise<boolean> {
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "-A", "--quiet", "--no-check", "--fail-fast", "--config", this.#config, ...flags, file],
      cwd: this.#root,
      env: { CHECKOUT_CONFIG: this.#config },
      stdout: "null",
      stderr: "null",
      signal: AbortSignal.timeout(limit),
    }).output();
    return success;
  }

  /**
   * A function that says whether TypeScript accepts a text in place of a file. What other files make of it is not
   * asked. Packages are not found here: what they export is `any`, which makes the same errors before and after.
   */
  typeCheck(files: ReadonlyMap<string, string>): (file: string, text: string) => boolean {
    const { compilerOptions } = JSON.parse(Deno.readTextFileSync(this.#config));
    const { ScriptTarget: { ESNext }, ModuleResolutionKind: { Bundler: moduleResolution } } = ts;
    const options = { ...compilerOptions, target: ESNext, module: ESNext, moduleResolution };
    const paths = [...files.keys()].map((file) => this.path(file));
    let version = 0;
    let changed: readonly [path: string, text: string] = ["", ""];
    const service = ts.createLanguageService({
      getCompilationSettings: () => ({ ...options, allowImportingTsExtensions: true }),
      getCurrentDirectory: () => this.#root,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      getScriptFileNames: () => paths,
      getScriptVersion: (path) => path === changed[0] ? `${version}` : "0",
      getScriptSnapshot(path) {
        const text = path === changed[0] ? changed[1] : ts.sys.readFile(path);
        return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
      },
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
    });
    const problems = (...change: [path: string, text: string]) => {
      version++;
      changed = change;
      return service.getSemanticDiagnostics(changed[0]).length;
    };
    return (file, text) => problems(this.path(file), text) <= problems(this.path(file), files.get(file)!);
  }
}
