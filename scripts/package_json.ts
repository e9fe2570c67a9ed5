/**
 * The fields of the npm package's `package.json`. What deno.json already says (version, licence, entry points,
 * dependency ranges) is derived from it, so that the two cannot drift; the rest is written here and nowhere else.
 */

/** The part of deno.json that package.json is derived from. */
export interface DenoConfig {
  version: string;
  license: string;
  exports: Record<string, string>;
  imports: Record<string, string>;
}

/** Where an entry point's types and code lie. `default` serves `import` and `require()`. */
interface ExportTarget {
  types: string;
  default: string;
}

/** The package.json of the npm package. */
export interface PackageJson {
  name: string;
  version: string;
  exports: Record<string, ExportTarget | string>;
  bin: Record<string, string>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: true }>;
  [field: string]: unknown;
}

/**
 * Where the repository lives, as `owner/name` on GitHub: the one place that says so. `deno task check:release` names
 * every file that links to another one, and refuses to release from another one.
 */
export const REPOSITORY = "fastify-authjs/fastify-authjs";

/** The oldest Node: the first release of 20 that can `require()` an ES module. */
export const NODE_FLOOR = "20.19.0";

/** Which Node can `require()` an ES module: not 21, nor 22 before this release. */
export const NODE_RANGE = `^${NODE_FLOOR} || >=22.12.0`;

/** The oldest Deno: the first release on which all tests pass. */
export const DENO_FLOOR = "2.8.0";

/** The oldest Bun: 1.2 has no `hkdfSync()`. */
export const BUN_FLOOR = "1.3.0";

/** Installed with the package. */
const DEPENDENCIES = [
  "@auth/core",
  "@remix-run/html-template",
  "cookie",
  "fastify-plugin",
  "jose",
  "lru-cache",
  "negotiator",
  "oauth4webapi",
  "on-headers",
];

/** The entry point that is run, not imported: JSR has it among the others, npm in "bin". */
const COMMAND = "./cli";

/** Brought by the app, so that plugin and app share one copy. */
const PEER_DEPENDENCIES = ["fastify"];

/**
 * Needed by one kind of provider each, nodemailer in the ranges of @auth/core, which loads both packages, and in later
 * ones, with which the tests of mails run, and @simplewebauthn/server in a later one alone, which
 * `src/provider/webauthn/bridge.ts` gives to core; and by `rateLimit`, which refuses versions before 11.2 at boot: an application
 * that does not use it may have an older one; by `fastify-authjs/opentelemetry`; and by `startIssuer()` of
 * `fastify-authjs/testing`: its 9 needs Node 22, its 8 is for Node 20; and by `fastify-authjs/react`.
 */
const OPTIONAL_PEER_DEPENDENCIES = {
  "@fastify/rate-limit": "^10.0.0 || ^11.0.0",
  "@opentelemetry/api": "^1.9.0",
  "@simplewebauthn/server": "^14.0.0",
  "nodemailer": "^7.0.7 || ^8.0.5 || ^9.0.0 || ^10.0.0",
  "oauth2-mock-server": "^8.2.0 || ^9.0.0",
  "react": "^18.0.0 || ^19.0.0",
};

/** Builds the fields of package.json from deno.json. */
export function packageJson(config: DenoConfig): PackageJson {
  const { [COMMAND]: command, ...exports } = mapValues(config.exports, toExportTarget);
  const main = exports["."];
  const repository = `https://github.com/${REPOSITORY}`;
  return {
    name: "fastify-authjs",
    version: config.version,
    description: "Auth.js for Fastify: sign-in with OAuth, OpenID Connect, e-mail, passwords and passkeys.",
    keywords: [
      "fastify",
      "fastify-plugin",
      "authjs",
      "auth.js",
      "next-auth",
      "authentication",
      "oauth",
      "oidc",
      "passkeys",
      "session",
    ],
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
    repository: { type: "git", url: `git+${repository}.git` },
    license: config.license,
    type: "module",
    main: main?.default,
    types: main?.types,
    exports: { ...exports, "./package.json": "./package.json" },
    bin: command === undefined ? {} : { "fastify-authjs": command.default },
    files: ["esm", "mod.ts", "providers", "src", "CHANGELOG.md"],
    sideEffects: false,
    engines: { node: NODE_RANGE, deno: `>=${DENO_FLOOR}`, bun: `>=${BUN_FLOOR}` },
    dependencies: pick(config.imports, DEPENDENCIES),
    peerDependencies: { ...pick(config.imports, PEER_DEPENDENCIES), ...OPTIONAL_PEER_DEPENDENCIES },
    peerDependenciesMeta: mapValues(OPTIONAL_PEER_DEPENDENCIES, () => ({ optional: true as const })),
    publishConfig: { access: "public" },
  };
}

/** `./providers/github.ts` is built to `./esm/providers/github.js` and `.d.ts`. */
function toExportTarget(source: string): ExportTarget {
  const built = source.replace(/^\.\//, "./esm/").replace(/\.ts$/, "");
  return { types: `${built}.d.ts`, default: `${built}.js` };
}

/** The version ranges that deno.json's import map gives these npm packages. */
function pick(imports: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => {
    const range = imports[name]?.split(`npm:${name}@`)[1];
    if (!range) throw new Error(`deno.json "imports" must map "${name}" to "npm:${name}@<range>"`);
    return [name, range];
  }));
}

function mapValues<V, R>(record: Record<string, V>, map: (value: V) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
