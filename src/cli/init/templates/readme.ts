/** The README of the new project, and what is printed when it has been written. */
import type { Choices, Runtime } from "../choices.ts";
import { callbackPath, isOAuth, type Provider } from "../provider.ts";
import { LOCAL_URL, type Variable } from "../variables.ts";

const DOCS = "https://github.com/fastify-authjs/fastify-authjs/blob/main/docs";

/** The commands of a project. */
const COMMANDS: Readonly<Record<Runtime, { install?: string; run: (task: string) => string }>> = {
  node: {
    install: "npm install",
    run: (task) => task === "start" || task === "test" ? `npm ${task}` : `npm run ${task}`,
  },
  deno: { run: (task) => `deno task ${task}` },
};

/** `README.md`. */
export function readme(choices: Choices, variables: readonly Variable[]): string {
  const { name, runtime, database } = choices;
  const { run } = COMMANDS[runtime];
  return `# ${name}

A server with Fastify whose users sign in with Auth.js
([fastify-authjs](${DOCS}/first-server.md)).

## Starting it

${steps(choices, variables).map((step, index) => `${index + 1}. ${step}\n`).join("")}
| command | what it does |
| --- | --- |
| \`${run("start")}\` | starts the server |
| \`${run("dev")}\` | starts it, and again after each change |
| \`${run("test")}\` | runs the tests, with the settings in \`.env.test\` |
| \`${run("check")}\` | checks the types |
| \`${run("doctor")}\` | finds mistakes in the settings |
${callbackSection(choices)}
## What is where

| file | what it has |
| --- | --- |
| \`src/auth.ts\` | the providers, and every other setting of Auth.js |
| \`src/app.ts\` | the routes |
| \`src/server.ts\` | the start |
${fileRows(choices)}| \`.env.example\` | every setting, and what it is |

## Next

- [Callbacks](${DOCS}/callbacks.md): the id of a user, and roles
- [Guards](${DOCS}/guards.md): who may use a route
- [A sign-in page of your own](${DOCS}/sign-in-page.md)
${
    database === "none"
      ? `- [A database](${DOCS}/database-sessions.md)\n`
      : ""
  }- [Testing](${DOCS}/testing.md), [deployment](${DOCS}/deployment.md), and
  [what to do when something does not work](${DOCS}/troubleshooting.md)
`;
}

/** What is to be done before the server runs, each as a sentence or two. */
export function steps(choices: Choices, variables: readonly Variable[]): string[] {
  const { runtime, providers, database } = choices;
  const { install, run } = COMMANDS[runtime];
  const empty = variables.filter(({ example, own = example }) => own === "").map(({ name }) => name);
  const registered = providers.filter(isOAuth);
  return [
    ...install ? [`Install the packages: \`${install}\``] : [],
    ...registered.length > 0
      ? [`Register the callback URL with ${registered.map(({ name }) => name).join(", ")} (below).`]
      : [],
    ...empty.length > 0 ? [`Set in \`.env\`: ${empty.map((name) => `\`${name}\``).join(", ")}.`] : [],
    ...database === "postgres"
      ? [
        "Start PostgreSQL at `DATABASE_URL`, such as with\n" +
        "   `docker run --rm -p 5432:5432 -e POSTGRES_PASSWORD=postgres postgres`.",
      ]
      : [],
    `\`${run("start")}\`, and open ${LOCAL_URL}.${
      providers.some(({ type }) => type === "credentials")
        ? " The password of `ADMIN_EMAIL` is in `.env`."
        : ""
    }${
      providers.some(({ type }) => type === "webauthn") ? ` A passkey is added at ${LOCAL_URL}/passkeys.` : ""
    }`,
  ];
}

/** The addresses to register, as \`<name>: <address>\`. */
export function callbackUrls(providers: readonly Provider[], origin: string): string[] {
  return providers.filter(isOAuth).map((provider) => `${provider.name}: ${origin}${callbackPath(provider)}`);
}

function callbackSection({ providers }: Choices): string {
  const urls = callbackUrls(providers, LOCAL_URL);
  if (urls.length === 0) return "";
  return `
## Callback URLs

Register these with the providers; in production with your address in place of
\`${LOCAL_URL}\`, which is then the value of \`AUTH_URL\`, too.

${urls.map((url) => `- ${url.replace(/(https?:.*)/, "`$1`")}\n`).join("")}`;
}

function fileRows({ providers, database }: Choices): string {
  const has = (type: string) => providers.some((provider) => provider.type === type);
  const rows = [
    has("credentials") && ["src/users.ts", "who has a password"],
    has("webauthn") && ["src/passkeys.ts", "the page that adds a passkey"],
    database !== "none" && ["src/schema.ts", "the tables, and the SQL that makes them"],
    database !== "none" && ["src/database.ts", "the connection"],
  ];
  return rows.filter((row) => row !== false).map(([file, about]) => `| \`${file}\` | ${about} |\n`).join("");
}
