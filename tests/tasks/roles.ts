/** Task: only administrators use the scope /admin. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";

const ADMINS = ["ada"];

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({
    ...config,
    callbacks: {
      session: (
        { session: { user, expires } }: { session: { user: { name?: string | null }; expires: string } },
      ) => ({
        user: { ...user, role: ADMINS.includes(user.name ?? "") ? "admin" : "user" },
        expires,
      }),
    },
  } as FastifyAuthConfig);
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  await app.register(async (admin) => {
    admin.addHook("onRequest", auth.requireSession({ roles: "admin" }));
    admin.get("/users", () => "users");
    await Promise.resolve();
  }, { prefix: "/admin" });
  return app as FastifyInstance;
}
