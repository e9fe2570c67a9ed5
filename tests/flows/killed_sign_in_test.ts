/** A process that is killed in the middle of a first sign-in, and others over the same database. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { type ChildApp, startChildApp, stopChildApp } from "../support/child_app.ts";
import { openPostgres, serverUrl } from "../support/databases.ts";
import { codeFor } from "../support/identity.ts";
import { PG_ADAPTER_TABLES } from "../support/tables.ts";

const ADA = { id: "ada-1", name: "Ada", email: "ada@example.com" };

const postgres = serverUrl("TEST_POSTGRES_URL", "the tests of sign-ins that are killed");
const redis = serverUrl("TEST_REDIS_URL", "the tests of sign-ins that are killed");

/** Signs in at a process; where it leads, and who is then signed in. */
async function signIn({ port }: ChildApp): Promise<{ location: string; email: string | undefined }> {
  const cookies = new Map<string, string>();
  const send = async (path: string, form?: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return { location: response.headers.get("location") ?? "", body: await response.text() };
  };
  const { csrfToken } = JSON.parse((await send("/auth/csrf")).body);
  const { location: address } = await send("/auth/signin/one", { csrfToken });
  const state = new URL(address).searchParams.get("state")!;
  const { location } = await send(
    `/auth/callback/one?${new URLSearchParams({ code: codeFor(ADA), state })}`,
  );
  const { session } = JSON.parse((await send("/me")).body);
  return { location, email: session?.user.email };
}

for (const shared of postgres && redis ? [true, false] : []) {
  const what = shared
    ? "another one that shares its store finishes the user"
    : "another one refuses the user without a shared store, and its log names it";
  Deno.test(`U2: of a process that was killed between the two writes of a first sign-in, ${what}`, async () => {
    const { place, count, pool, [Symbol.asyncDispose]: close } = await openPostgres(
      postgres!,
      PG_ADAPTER_TABLES,
    );
    const env = {
      DATABASE_URL: place,
      REDIS_URL: shared ? redis! : "",
      PREFIX: `test-${crypto.randomUUID()}:`,
    };
    const killed = await startChildApp("./killed_process.ts", { ...env, KILL: "1" });
    const other = await startChildApp("./killed_process.ts", env);
    let log = "";
    other.child.stdout!.setEncoding("utf8").on("data", (text) => log += text);
    try {
      const died = new Promise((resolve) => killed.child.once("exit", (_code, signal) => resolve(signal)));
      await signIn(killed).catch(() => {});
      assertEquals(await died, "SIGKILL");
      assertEquals([await count("users"), await count("accounts")], [1, 0]);
      // What the killed one holds of the lock runs out.
      await new Promise((resolve) => setTimeout(resolve, shared ? 2500 : 0));
      const { location, email } = await signIn(other);
      if (shared) {
        assertEquals([location, email], ["http://app.test", ADA.email]);
        assertEquals([await count("users"), await count("accounts")], [1, 1]);
        return;
      }
      assertStringIncludes(location, "error=OAuthAccountNotLinked");
      const { rows: [user] } = await pool.query("SELECT id FROM users");
      const said = log.split("\n").find((line) => line.includes(`since the user ${user.id} has its e-mail address`));
      assert(said?.includes("its first sign-in was broken off"), log);
    } finally {
      await Promise.all([killed, other].map(stopChildApp));
      await close();
    }
  });
}
