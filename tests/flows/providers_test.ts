/** The provider subpaths, against the installed core and the generator that writes them. Deno only: it runs scripts. */
import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import type { Provider } from "fastify-authjs/providers";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SECRET, testApp } from "../support/app.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const config = JSON.parse(await readFile(join(root, "deno.json"), "utf8"));
const modules = Object.keys(config.exports)
  .filter((name) => name.startsWith("./providers/"))
  .map((name) => name.slice("./providers/".length));

type Factory = (options: Record<string, unknown>) => Extract<Provider, { id: string }>;

async function importFactory(module: string): Promise<Factory> {
  return (await import(`fastify-authjs/providers/${module}`)).default;
}

/** What any factory may want, so that each can be made. */
function optionsFor(module: string): Record<string, unknown> {
  return {
    clientId: "id",
    clientSecret: "secret",
    issuer: "https://issuer.example",
    apiKey: "key",
    server: "smtp://localhost:1025",
    authorize: () => null,
    // Core takes one WebAuthn provider that fills in forms by itself
    ...module === "webauthn" ? { enableConditionalUI: false } : {},
  };
}

Deno.test("every provider subpath gives a factory", async () => {
  assert(modules.length > 100, `only ${modules.length} subpaths`);
  for (const module of modules) {
    const factory = await importFactory(module);
    assertEquals(typeof factory, "function", module);
    const { id, name, type } = factory(optionsFor(module));
    assert(id && name && type, module);
  }
});

Deno.test("every provider can be configured at once, under an id of its own, with its callback URL", async () => {
  const factories = await Promise.all(modules.map(importFactory));
  const providers = factories.map((factory, index) => factory(optionsFor(modules[index] ?? "")));
  await using app = await testApp({
    providers,
    secret: SECRET,
    origin: "https://app.example",
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    experimental: { enableWebAuthn: true },
  });
  const listed = (await app.inject("/auth/providers")).json();
  const expected = providers.map(({ id }) => [id, `https://app.example/auth/callback/${id}`]);
  assertEquals(Object.keys(listed).length, modules.length);
  assertEquals(
    Object.fromEntries(
      Object.entries<{ callbackUrl: string }>(listed).map(([id, { callbackUrl }]) => [id, callbackUrl]),
    ),
    Object.fromEntries(expected),
  );
});

Deno.test("every provider module says its id, its environment variables and its callback URL", async () => {
  for (const module of modules) {
    const source = await readFile(join(root, "providers", `${module}.ts`), "utf8");
    const { id, type } = (await importFactory(module))(optionsFor(module));
    assertStringIncludes(source, "@module");
    assertStringIncludes(source, `Provider id \`${id}\`, type \`${type}\``);
    assertStringIncludes(source, `<origin>/auth/callback/${id}`);
    if (type !== "oauth" && type !== "oidc") continue;
    const prefix = `AUTH_${id.toUpperCase().replaceAll("-", "_")}`;
    assertStringIncludes(source, `\`${prefix}_ID\`, \`${prefix}_SECRET\``);
  }
});

interface Outcome {
  success: boolean;
  output: string;
}

/** Runs the generator of a copy of the project. */
async function generate(copy: string, ...args: string[]): Promise<Outcome> {
  const script = join(copy, "scripts/generate_providers.ts");
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", join(copy, "deno.json"), script, ...args],
  });
  const { success, stdout, stderr } = await command.output();
  return { success, output: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

async function withCopy(run: (copy: string) => Promise<void>): Promise<void> {
  const copy = await mkdtemp(join(tmpdir(), "fastify-authjs-"));
  try {
    for (const path of ["deno.json", "providers", "scripts", "src"]) {
      await cp(join(root, path), join(copy, path), { recursive: true });
    }
    await run(copy);
  } finally {
    await rm(copy, { recursive: true });
  }
}

Deno.test("generate_providers --check passes on what it wrote", () =>
  withCopy(async (copy) => {
    const { success, output } = await generate(copy, "--check");
    assert(success, output);
  }));

Deno.test("generate_providers --check names each file that core does not agree with, and generating fixes them", () =>
  withCopy(async (copy) => {
    await rm(join(copy, "providers/github.ts"));
    await writeFile(
      join(copy, "providers/google.ts"),
      `export { default } from "@auth/core/providers/gitlab";\n`,
    );
    await writeFile(join(copy, "providers/acme.ts"), "");
    const { "./providers/zoom": _, ...exports } = config.exports;
    await writeFile(join(copy, "deno.json"), JSON.stringify({ ...config, exports }));

    const checked = await generate(copy, "--check");
    assertFalse(checked.success);
    assertStringIncludes(checked.output, "providers/github.ts is missing");
    assertStringIncludes(checked.output, "providers/google.ts is stale");
    assertStringIncludes(checked.output, "providers/acme.ts is left over");
    assertStringIncludes(checked.output, `deno.json "exports" does not list the providers`);
    assertFalse((await readdir(join(copy, "providers"))).includes("github.ts"), "--check must write nothing");

    assert((await generate(copy)).success);
    assert((await generate(copy, "--check")).success);
    assertEquals(await readdir(join(copy, "providers")), await readdir(join(root, "providers")));
    assertEquals(JSON.parse(await readFile(join(copy, "deno.json"), "utf8")).exports, config.exports);
  }));
