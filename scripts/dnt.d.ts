/**
 * The part of dnt's options that `npm_dnt.ts` sets, to check that file if JSR, which alone has dnt, does not answer.
 * If it answers, the file is checked against dnt itself.
 */
export interface BuildOptions {
  cwd?: string;
  configFile?: string | false;
  outDir: string;
  entryPoints: { name?: string; path: string }[];
  package: { name: string; version: string; [field: string]: unknown };
  esModule?: boolean;
  scriptModule?: "cjs" | "umd" | false;
  declaration?: "inline" | "separate" | false;
  compilerOptions?: {
    target?: "ES2022" | "ES2023" | "Latest";
    lib?: ("ES2023" | "DOM" | "DOM.Iterable")[];
    sourceMap?: boolean;
    inlineSources?: boolean;
  };
  polyfills?: boolean;
  shims: { deno?: boolean | "dev" | { test: boolean | "dev" } };
  mappings?: Record<string, { name: string; version?: string; peerDependency?: boolean } | string>;
  test?: boolean;
  testPattern?: string;
  testIsolation?: "process" | "none";
  typeCheck?: "both" | "single" | false;
  postBuild?: () => void | Promise<void>;
}

/** Builds the package, and runs its tests if asked. */
export function build(options: BuildOptions): Promise<void>;
