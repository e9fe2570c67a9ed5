/** Row C9: what the plugin asks of Deno's permissions. Deno only: Node has none. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";

const EXPLICIT = `
  import Fastify from "fastify";
  import { FastifyAuth, getSession } from "fastify-authjs";
  import Credentials from "fastify-authjs/providers/credentials";
  const config = {
    providers: [Credentials({ credentials: {}, authorize: () => ({ id: "1", name: "Ada" }) })],
    secret: "a-test-secret-of-at-least-32-characters",
    origin: "http://localhost:3000",
  };
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  const csrf = await app.inject("/auth/csrf");
  const cookie = [csrf.headers["set-cookie"]].flat().map((line) => line.split(";")[0]).join("; ");
  const signedIn = await app.inject({
    method: "POST",
    url: "/auth/callback/credentials",
    headers: { cookie, "content-type": "application/json" },
    payload: { csrfToken: csrf.json().csrfToken },
  });
  const session = [signedIn.headers["set-cookie"]].flat().map((line) => line.split(";")[0]).join("; ");
  console.log((await app.inject({ url: "/me", headers: { cookie: session } })).json().session.user.name);
`;

const NO_SECRET = `
  import Fastify from "fastify";
  import { FastifyAuth } from "fastify-authjs";
  await Fastify().register(FastifyAuth({ providers: [], trustHost: true }), { prefix: "/auth" });
`;

const FROM_ENVIRONMENT = `
  import Fastify from "fastify";
  import { FastifyAuth } from "fastify-authjs";
  import GitHub from "fastify-authjs/providers/github";
  const app = Fastify();
  await app.register(FastifyAuth({ providers: [GitHub] }), { prefix: "/auth" });
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  console.log(Object.keys(await (await fetch(origin + "/auth/providers")).json()).join());
  await app.close();
`;

async function runWith(permissions: string[], code: string): Promise<{ output: string; errors: string }> {
  const directory = fileURLToPath(new URL("../../", import.meta.url));
  const file = await Deno.makeTempFile({ dir: directory, prefix: ".permissions_", suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, code);
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--no-prompt", "--no-lock", ...permissions, file],
      cwd: directory,
      env: {
        AUTH_URL: "https://never.example",
        AUTH_SECRET: "a-secret-of-the-environment-32-characters",
        AUTH_GITHUB_ID: "id",
        AUTH_GITHUB_SECRET: "secret",
      },
    }).output();
    const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    return { output: output!, errors: errors! };
  } finally {
    await Deno.remove(file);
  }
}

Deno.test("C9: without any permission a fully explicit configuration boots and signs in", async () => {
  const { output, errors } = await runWith([], EXPLICIT);
  assertEquals(output.trim(), "Ada", errors);
});

Deno.test("C9: without --allow-env a missing secret is our error, not Deno's", async () => {
  const { errors } = await runWith(["--allow-net"], NO_SECRET);
  assertStringIncludes(errors, "There is no secret");
});

Deno.test("C9: --allow-net and --allow-env are all that a server asks for", async () => {
  const { output, errors } = await runWith(["--allow-net", "--allow-env"], FROM_ENVIRONMENT);
  assertEquals(output.trim(), "github", errors);
});

Deno.test("C9: Fastify's logger asks for --allow-sys=hostname besides", async () => {
  const code = FROM_ENVIRONMENT.replace("Fastify()", "Fastify({ logger: true })");
  const { output, errors } = await runWith(["--allow-net", "--allow-env", "--allow-sys=hostname"], code);
  assertEquals(output.trim().split("\n").includes("github"), true, errors);
});
