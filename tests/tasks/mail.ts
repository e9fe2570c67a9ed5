/** Task: users sign in with a link in a mail, without a password. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import Nodemailer from "fastify-authjs/providers/nodemailer";

export async function build(config: FastifyAuthConfig, smtp: string): Promise<FastifyInstance> {
  const auth = createAuth({
    ...config,
    providers: [
      Nodemailer({ server: smtp, from: "Acme <no-reply@app.example>" }),
    ] as FastifyAuthConfig["providers"],
  });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", (request) => auth.getSession(request));
  return app as FastifyInstance;
}
