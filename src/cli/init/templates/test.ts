/** The test of the new project. */
import type { Choices } from "../choices.ts";

/** Where the test lies: as each runtime finds it. */
export function testPath({ runtime }: Choices): string {
  return runtime === "deno" ? "test/app_test.ts" : "test/app.test.ts";
}

/** The test. */
export function testSource(choices: Choices): string {
  const { runtime, providers, database } = choices;
  const test = runtime === "deno" ? "Deno.test" : "test";
  const hasPassword = providers.some(({ type }) => type === "credentials");
  const open = {
    none: "build()",
    libsql: `build(await openDatabase(setting("DATABASE_URL")))`,
    postgres: "build(await openTestDatabase())",
  }[database];
  return `import assert from "node:assert/strict";
${
    runtime === "node"
      ? `import { test } from "node:test";\n`
      : ""
  }import { signedIn } from "fastify-authjs/testing";
import { build } from "../src/app.ts";
${database === "libsql" ? `import { openDatabase } from "../src/database.ts";\n` : ""}${
    hasPassword || database === "libsql" ? `import { setting } from "../src/environment.ts";\n` : ""
  }${database === "postgres" ? `import { openTestDatabase } from "./database.ts";\n` : ""}
/** The application, a new one for each test. */
${database === "none" ? "" : "async "}function start() {
  return ${open};
}

${test}("a visitor has to sign in", async () => {
  const { app } = await start();
  try {
    assert.equal((await app.inject("/me")).statusCode, 401);
    assert.match((await app.inject("/")).body, /Sign in/);
  } finally {
    await app.close();
  }
});

${test}("a user who has signed in sees who they are", async () => {
  const { app, auth } = await start();
  try {
    const user = { name: "Ada", email: "ada@example.com" };
    const inject = await signedIn(app, auth, { user });
    assert.equal((await inject("/me")).json().user.name, "Ada");
    assert.equal((await inject("/")).json().hello, "Ada");
  } finally {
    await app.close();
  }
});

${test}("every sign-in method is offered", async () => {
  const { app } = await start();
  try {
    const offered = (await app.inject("/auth/providers")).json();
    assert.deepEqual(Object.keys(offered), [
${providers.map(({ id }) => `      "${id}",\n`).join("")}    ]);
    assert.equal((await app.inject("/auth/signin")).statusCode, 200);
  } finally {
    await app.close();
  }
});
${hasPassword ? passwordTest(test) : ""}`;
}

function passwordTest(test: string): string {
  return `
${test}("the right password signs in, and no other", async () => {
  const { app } = await start();
  const signIn = async (password: string) => {
    const csrf = await app.inject("/auth/csrf");
    const response = await app.inject({
      method: "POST",
      url: "/auth/callback/credentials",
      headers: {
        cookie: csrf.cookies.map(({ name, value }) => \`\${name}=\${value}\`)
          .join("; "),
      },
      payload: {
        csrfToken: csrf.json().csrfToken,
        email: setting("ADMIN_EMAIL"),
        password,
      },
    });
    return response.cookies.some(({ name }) => name.endsWith("session-token"));
  };
  try {
    assert.equal(await signIn(setting("ADMIN_PASSWORD")), true);
    assert.equal(await signIn("wrong"), false);
  } finally {
    await app.close();
  }
});
`;
}
