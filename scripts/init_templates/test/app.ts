import assert from "node:assert/strict";
//| import { test } from "node:test"; //? node
import { signedIn } from "fastify-authjs/testing";
import { build } from "../src/app.ts";
import { openDatabase } from "../src/database.ts"; //? libsql
import { setting } from "../src/environment.ts"; //? libsql
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

Deno.test("a user chooses a password, signs in with it, and changes it", async () => {
  const { app, auth } = await start();
  const user = { name: "Grace", email: "grace@example.com" };
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
        email: "Grace@example.com",
        password,
      },
    });
    return response.cookies.some(({ name }) => name.endsWith("session-token"));
  };
  try {
    const signedInAt = (auth_time: number) =>
      signedIn(app, auth, { user, claims: { auth_time } });
    const grace = await signedInAt(Math.floor(Date.now() / 1000));
    const other = await signedInAt(1);
    const url = "/account/password";
    const choose = (password: string) =>
      grace({ method: "POST", url, payload: { password } });
    assert.equal((await grace(url)).statusCode, 200);
    assert.equal((await other(url)).statusCode, 401);
    assert.equal((await choose("too short")).statusCode, 422);
    assert.equal(await signIn("too short"), false);

    assert.equal((await choose("a long first password")).statusCode, 303);
    assert.equal(await signIn("a long first password"), true);
    assert.equal(await signIn("another password"), false);
    assert.equal((await other("/me")).statusCode, 401, "its session has ended");

    assert.equal((await choose("a long second password")).statusCode, 303);
    assert.equal(await signIn("a long first password"), false);
    assert.equal(await signIn("a long second password"), true);
    assert.equal((await grace("/me")).statusCode, 200);
  } finally {
    await app.close();
  }
});
//? end
//? smtp

Deno.test("without a mail server, a link in the log signs a new user in", async () => {
  const { app } = await start();
  const cookies = new Map<string, string>();
  const send = async (url: string, payload?: Record<string, string>) => {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await app.inject({
      method: payload ? "POST" : "GET",
      url,
      headers: { cookie },
      ...payload && { payload },
    });
    for (const { name, value } of response.cookies) cookies.set(name, value);
    return response;
  };
  const { log } = console;
  let logged = "";
  console.log = (line: string) => logged += line;
  try {
    const { csrfToken } = (await send("/auth/csrf")).json();
    const email = "new@example.com";
    await send("/auth/signin/{{smtp}}", { csrfToken, email });
    const link = new URL(logged.match(/http:\S+/)![0]);
    const fields = Object.fromEntries(link.searchParams);
    const response = await send(link.pathname, { ...fields, csrfToken });
    //? credentials
    assert.match(String(response.headers.location), /\/account\/password/);
    //? end
    //? !credentials
//|     assert.equal(response.statusCode, 302);
    //? end
    assert.equal((await send("/me")).json().user.email, email);
  } finally {
    console.log = log;
    await app.close();
  }
});
//? end
