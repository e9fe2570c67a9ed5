import assert from "node:assert/strict";
//| import { test } from "node:test"; //? node
import { signedIn } from "fastify-authjs/testing";
import { build } from "../src/app.ts";
import { openDatabase } from "../src/database.ts"; //? libsql
import { setting } from "../src/environment.ts"; //? credentials|libsql
//| import { openTestDatabase } from "./database.ts"; //? postgres

/** The application, a new one for each test. */
async function start() { //? database
  return build(await openDatabase(setting("DATABASE_URL"))); //? libsql
//|   return build(await openTestDatabase()); //? postgres
//| function start() { //? !database
//|   return build(); //? !database
}

Deno.test("a visitor has to sign in", async () => {
  const { app } = await start();
  try {
    assert.equal((await app.inject("/me")).statusCode, 401);
    assert.match((await app.inject("/")).body, /Sign in/);
  } finally {
    await app.close();
  }
});

Deno.test("a user who has signed in sees who they are", async () => {
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

Deno.test("every sign-in method is offered", async () => {
  const { app } = await start();
  try {
    const offered = (await app.inject("/auth/providers")).json();
    assert.deepEqual(Object.keys(offered), [
      // {{ids}}
    ]);
    assert.equal((await app.inject("/auth/signin")).statusCode, 200);
  } finally {
    await app.close();
  }
});
//? credentials

Deno.test("the right password signs in, and no other", async () => {
  const { app } = await start();
  const signIn = async (password: string) => {
    const csrf = await app.inject("/auth/csrf");
    const response = await app.inject({
      method: "POST",
      url: "/auth/callback/credentials",
      headers: {
        cookie: csrf.cookies.map(({ name, value }) => `${name}=${value}`)
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
//? end
