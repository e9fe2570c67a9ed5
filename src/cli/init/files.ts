/** All files of a new project. */
import type { Choices } from "./choices.ts";
import { appSource, ENVIRONMENT_SOURCE, serverSource } from "./templates/app.ts";
import { authSource, needsSettings, usersSource } from "./templates/auth.ts";
import { databaseSource, schemaSource, TEST_DATABASE_SOURCE } from "./templates/database.ts";
import { passkeysSource } from "./templates/passkeys.ts";
import { denoJson, environmentFile, gitignore, packageJson, TSCONFIG } from "./templates/project.ts";
import { readme } from "./templates/readme.ts";
import { testPath, testSource } from "./templates/test.ts";
import type { Variable } from "./variables.ts";

/** The text of each file, by its path. */
export function filesOf(choices: Choices, variables: readonly Variable[]): Map<string, string> {
  const { runtime, providers, database } = choices;
  const has = (type: string) => providers.some((provider) => provider.type === type);
  const hasDatabase = database !== "none";
  const usesSettings = hasDatabase || has("credentials") || needsSettings(providers);
  const files: [path: string, text: string | false][] = [
    ["README.md", readme(choices, variables)],
    [".gitignore", gitignore(choices)],
    [".env", environmentFile(variables, "own")],
    [".env.example", environmentFile(variables, "example")],
    [".env.test", environmentFile(variables, "test")],
    ["package.json", runtime === "node" && packageJson(choices)],
    ["tsconfig.json", runtime === "node" && TSCONFIG],
    ["deno.json", runtime === "deno" && denoJson(choices)],
    ["src/app.ts", appSource(choices)],
    ["src/auth.ts", authSource(choices)],
    ["src/database.ts", hasDatabase && databaseSource(choices)],
    ["src/environment.ts", usesSettings && ENVIRONMENT_SOURCE],
    ["src/passkeys.ts", has("webauthn") && passkeysSource(choices)],
    ["src/schema.ts", hasDatabase && schemaSource(choices)],
    ["src/server.ts", serverSource(choices)],
    ["src/users.ts", has("credentials") && usersSource(choices)],
    [testPath(choices), testSource(choices)],
    ["test/database.ts", database === "postgres" && TEST_DATABASE_SOURCE],
  ];
  return new Map(files.filter((file): file is [string, string] => file[1] !== false));
}
