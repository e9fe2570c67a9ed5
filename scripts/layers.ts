/**
 * Checks that imports point down: no cycle between files or between folders, and none against the layers below.
 *
 * The layers are also shown in CONTRIBUTING.md; `--print` writes that table.
 *
 * @module
 */
import { FEATURES } from "../src/features/mod.ts";

const root = new URL("../", import.meta.url);

/** What a layer may import besides itself, {@linkcode SHARED} and packages. From top to bottom. */
const LAYERS: Readonly<Record<string, { about: string; imports: readonly string[] }>> = {
  "cli": {
    about: "the command: checks an application, or a deployment from outside; writes a new project",
    imports: ["instance", "provider", "utils"],
  },
  "testing": {
    about: "for the tests of applications: signed-in requests, an OpenID Provider",
    imports: ["instance", "session", "config", "utils"],
  },
  "src/": {
    about: "what users import or see first: the plugin, `createAuth()`, `getSession()`, types, errors",
    imports: [
      "guard",
      "actions",
      "instance",
      "routes",
      "session",
      "config",
      "provider",
      "adapter",
      "store",
      "http",
      "utils",
    ],
  },
  "features": {
    about: "what a configuration may add: a folder each, with its options, hooks and routes; none knows another",
    imports: [
      "guard",
      "actions",
      "instance",
      "routes",
      "core",
      "session",
      "config",
      "provider",
      "adapter",
      "store",
      "jwt",
      "pages",
      "http",
      "telemetry",
      "utils",
    ],
  },
  "guard": {
    about: "which requests to routes of the application pass: `requireSession()`, `config.auth`",
    imports: [
      "actions",
      "instance",
      "session",
      "config",
      "core",
      "adapter",
      "store",
      "http",
      "telemetry",
      "utils",
    ],
  },
  "actions": {
    about: "what routes of the application do to sessions: sign in and out, update, list, revoke",
    imports: ["instance", "routes", "core", "session", "adapter", "http", "telemetry", "utils"],
  },
  "instance": {
    about: "a configuration in use: `auth_instance.ts`, its mounts, its tenants, reading a session with it",
    imports: [
      "routes",
      "core",
      "session",
      "config",
      "provider",
      "jwt",
      "pages",
      "store",
      "http",
      "telemetry",
      "utils",
    ],
  },
  "routes": {
    about: "one handler per action or provider type, the request context, the reply",
    imports: [
      "core",
      "session",
      "config",
      "provider",
      "adapter",
      "store",
      "jwt",
      "pages",
      "http",
      "telemetry",
      "utils",
    ],
  },
  "core": {
    about: "calling `@auth/core`: answers as data, error pages, a failing database, its log",
    imports: ["session", "config", "provider", "adapter", "store", "jwt", "pages", "http", "telemetry", "utils"],
  },
  "session": {
    about: "reading a session, renewing it, refreshing it once, writing it back",
    imports: ["config", "adapter", "store", "jwt", "http", "utils"],
  },
  "config": {
    about: "from the caller's object and the environment to one checked configuration",
    imports: ["provider", "adapter", "store", "jwt", "pages", "http", "utils"],
  },
  "provider": {
    about: "what core is given of a provider: workarounds, bounded requests, e-mail, WebAuthn",
    imports: ["pages", "http", "telemetry", "utils"],
  },
  "adapter": { about: "what core is given of a database adapter", imports: ["store", "http", "telemetry", "utils"] },
  "store": {
    about: "the store that processes share, or one of this process; knows no session",
    imports: ["http", "utils"],
  },
  "jwt": { about: "tokens: opening, sealing, keys, the cache; knows no configuration", imports: ["utils"] },
  "pages": {
    about: "the built-in pages: their HTML, texts, assets and policy; knows no configuration and no request",
    imports: ["http", "utils"],
  },
  "telemetry": {
    about: "what can be observed from outside: events, and operations on tracing channels",
    imports: ["utils"],
  },
  "http": { about: "between Fastify and web requests; knows nothing of Auth.js", imports: ["utils"] },
  "utils": { about: "small functions about nothing of ours", imports: [] },
  "client": { about: "for browsers: signs in and out, and reads the session", imports: [] },
};

/** The interface of features, their list, and what loads them: between the kernel and the features, of which both know. */
const EDGE = ["src/features/feature.ts", "src/features/load.ts", "src/features/mod.ts"];

/** Files that every layer may import: they import nothing of ours but each other and types. */
const SHARED = [
  ...EDGE,
  "src/errors.ts",
  "src/types.ts",
  "src/types/kernel_options.ts",
  "src/types/records.ts",
  "src/types/telemetry.ts",
  "src/provider/types.ts",
  "src/provider/oauth_type.ts",
  // The keys of the texts.
  "src/pages/texts/texts.ts",
  "src/pages/texts/en.ts",
];

function isShared(file: string): boolean {
  return SHARED.includes(file) || /^src\/features\/\w+\/options\.ts$/.test(file);
}

interface Module {
  specifier: string;
  dependencies?: { code?: { specifier?: string }; type?: { specifier?: string } }[];
}

/** What users import. */
const ENTRIES = [
  "mod.ts",
  "src/store/redis.ts",
  "src/adapters.ts",
  "src/telemetry.ts",
  "src/type_parts.ts",
  "src/features/telemetry/mod.ts",
  "src/client/mod.ts",
  "src/client/react.ts",
  "src/testing/mod.ts",
  "src/cli/main.ts",
  "providers/mod.ts",
];

/** The files of src/ with the files of src/ that each imports, types included. */
async function readGraph(): Promise<Map<string, string[]>> {
  const graph = new Map<string, string[]>(EDGE.map((file) => [file, []]));
  for (const entry of ENTRIES) {
    for (const { specifier, dependencies = [] } of await modulesOf(entry)) {
      const imported = dependencies.map(({ code, type }) => nameOf((code ?? type)?.specifier));
      if (isSource(nameOf(specifier)) && !EDGE.includes(nameOf(specifier))) {
        graph.set(nameOf(specifier), imported.filter(isSource));
      }
    }
  }
  return graph;
}

async function modulesOf(entry: string): Promise<Module[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "--no-lock", entry],
    cwd: root,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)).modules;
}

function nameOf(specifier = ""): string {
  return specifier.startsWith(root.href) ? specifier.slice(root.href.length) : "";
}

function isSource(file: string): boolean {
  return file.startsWith("src/");
}

/** Every file below a folder. */
async function filesIn(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
    if (isDirectory) files.push(...await filesIn(`${folder}${name}/`));
    else files.push(`${folder}${name}`);
  }
  return files;
}

/** The layer of a file: its first folder below src/. */
function layerOf(file: string): string {
  const [, folder, ...rest] = file.split("/");
  return rest.length === 0 ? "src/" : folder!;
}

/** One cycle, from a node back to itself, if there is one. */
function findCycle(graph: ReadonlyMap<string, Iterable<string>>): string[] | undefined {
  const done = new Set<string>();
  const visit = (node: string, path: readonly string[]): string[] | undefined => {
    const at = path.indexOf(node);
    if (at !== -1) return [...path.slice(at), node];
    if (done.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const cycle = visit(next, [...path, node]);
      if (cycle !== undefined) return cycle;
    }
    done.add(node);
  };
  for (const node of graph.keys()) {
    const cycle = visit(node, []);
    if (cycle !== undefined) return cycle;
  }
}

/** The imports between layers. */
function layerGraph(files: ReadonlyMap<string, readonly string[]>): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [file, imported] of files) {
    if (isShared(file)) continue;
    const layers = imported.filter((other) => !isShared(other)).map(layerOf);
    const known = graph.get(layerOf(file)) ?? new Set();
    for (const layer of layers) if (layer !== layerOf(file)) known.add(layer);
    graph.set(layerOf(file), known);
  }
  return graph;
}

function importProblems(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  for (const [file, imported] of graph) {
    const layer = layerOf(file);
    if (LAYERS[layer] === undefined && !isShared(file)) {
      found.push(`${file}: no layer is called "${layer}"`);
    }
    for (const other of imported) {
      if (isShared(other) || layerOf(other) === layer) continue;
      if (isShared(file) || !LAYERS[layer]?.imports.includes(layerOf(other))) {
        found.push(`${file} imports ${other}, which is against the layers`);
      }
    }
  }
  for (
    const [what, cycle] of [["files", findCycle(graph)], ["folders", findCycle(layerGraph(graph))]] as const
  ) {
    if (cycle !== undefined) found.push(`${what} import one another: ${cycle.join(" → ")}`);
  }
  return found;
}

/** The feature whose folder a file is in. */
function featureOf(file: string): string | undefined {
  return /^src\/features\/(\w+)\//.exec(file)?.[1];
}

/** Features that know one another, and files of the kernel that name an option of a feature. */
async function featureProblems(graph: ReadonlyMap<string, readonly string[]>): Promise<string[]> {
  const found: string[] = [];
  const options = FEATURES.flatMap(({ options = [] }) => options);
  for (const [file, imported] of graph) {
    const own = featureOf(file);
    for (const other of own === undefined ? [] : imported) {
      const feature = featureOf(other);
      if (feature !== undefined && feature !== own) {
        found.push(`${file} imports ${other}, of another feature`);
      }
    }
    if (/^src\/(?:features|cli|testing)\//.test(file)) continue;
    const text = await Deno.readTextFile(new URL(file, root));
    const code = text.replace(/\/\*[^]*?\*\/|\/\/.*$|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/gm, "");
    for (const option of options) {
      if (new RegExp(`\\w\\.${option}\\b|[{,]\\s*${option}\\s*[,:}=]`).test(code)) {
        found.push(`${file} names the option ${option} of a feature`);
      }
    }
  }
  return found;
}

/** The table of CONTRIBUTING.md. */
function table(): string {
  const rows = Object.entries(LAYERS).map(([name, { about, imports }]) =>
    `| \`${name === "src/" ? name : `src/${name}/`}\` | ${about} | ${imports.join(", ") || "–"} |`
  );
  return ["| layer | what it is about | may import |", "| --- | --- | --- |", ...rows].join("\n");
}

async function problems(): Promise<string[]> {
  const graph = await readGraph();
  const unused = (await filesIn("src/")).filter((file) => !graph.has(file));
  const contributing = await Deno.readTextFile(new URL("CONTRIBUTING.md", root));
  return [
    ...importProblems(graph),
    ...await featureProblems(graph),
    ...unused.map((file) => `${file} is imported by nothing`),
    ...(withoutSpaces(contributing).includes(withoutSpaces(table()))
      ? []
      : ["CONTRIBUTING.md has another table of layers: put in what `--print` writes"]),
  ];
}

/** The formatter aligns the columns of tables. */
function withoutSpaces(text: string): string {
  return text.replace(/[ -]+/g, "");
}

if (import.meta.main) {
  if (Deno.args.includes("--print")) {
    console.log(table());
  } else {
    const found = await problems();
    for (const problem of found) console.error(problem);
    Deno.exit(found.length === 0 ? 0 : 1);
  }
}
