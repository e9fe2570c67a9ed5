/** Task: signed-in users add a passkey, and sign in with it. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import Passkey from "fastify-authjs/providers/passkey";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({
    ...config,
    providers: [...config.providers, Passkey({ getUserInfo: () => Promise.resolve(null) })],
    experimental: { enableWebAuthn: true },
    session: { strategy: "jwt" },
  });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/passkeys", (request) => auth.listPasskeys(request));
  return app as FastifyInstance;
}
