/** `src/app.ts`, `src/server.ts` and `src/environment.ts`: the application, and its start. */
import type { Choices } from "../choices.ts";

/** `src/app.ts`. */
export function appSource({ providers, database }: Choices): string {
  const hasPasskeys = providers.some(({ type }) => type === "webauthn");
  const hasDatabase = database !== "none";
  return `import Fastify, { type FastifyServerOptions } from "fastify";
import { makeAuth } from "./auth.ts";
${hasDatabase ? `import type { Database } from "./database.ts";\n` : ""}${
    hasPasskeys ? `import { addPasskeyPage } from "./passkeys.ts";\n` : ""
  }
/** Builds the application, without listening. */
export async function build(${
    hasDatabase
      ? "\n  database: Database,\n  options: FastifyServerOptions = {},\n"
      : "options: FastifyServerOptions = {}"
  }) {
  const auth = makeAuth(${hasDatabase ? "database" : ""});
  const app = Fastify(options);
${
    hasDatabase
      ? `  app.addHook("onClose", () => database.close());\n`
      : ""
  }  await app.register(auth.plugin, { prefix: "/auth" });
${hasPasskeys ? "  addPasskeyPage(app, auth);\n" : ""}
  app.get("/", async (request, reply) => {
    const session = await auth.getSession(request);
    if (session) return { hello: session.user?.name ?? session.user?.email };
    return reply.type("text/html").send('<a href="/auth/signin">Sign in</a>');
  });

  // For signed-in users: a browser is led to the sign-in page, others get a 401
  app.get(
    "/me",
    { onRequest: auth.requireSession() },
    (request) => auth.getSession(request),
  );

  return { app, auth };
}
`;
}

/** `src/server.ts`. */
export function serverSource({ database }: Choices): string {
  const listen = `await app.listen({
  port: Number(process.env.PORT ?? 3000),
  host: process.env.HOST ?? "localhost",
});
`;
  if (database === "none") {
    return `import process from "node:process";
import { build } from "./app.ts";

const { app } = await build({ logger: true });
${endOnSignal}
${listen}`;
  }
  return `import process from "node:process";
import { build } from "./app.ts";
import { openDatabase } from "./database.ts";
import { setting } from "./environment.ts";

const database = await openDatabase(setting("DATABASE_URL"));
const { app } = await build(database, { logger: true });
${endOnSignal}
// Rows of users who do not come back
const timer = setInterval(
  () => database.prune().catch((error) => app.log.error(error)),
  60 * 60 * 1000,
);
timer.unref();

${listen}`;
}

const endOnSignal = `
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => app.close().then(() => process.exit(0)));
}
`;

/** `src/environment.ts`. */
export const ENVIRONMENT_SOURCE = `import process from "node:process";

/** A variable of the environment that has to be set. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(\`\${name} is not set: .env.example says what it is\`);
}
`;
