/**
 * GraphQL with Mercurius: the session in the context of a query.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession, type Session } from "fastify-authjs";
import mercurius from "mercurius";
import { authConfig, port } from "./auth.ts";

const config = authConfig();

const schema = `
  type User { id: ID, name: String }
  type Query { me: User, secret: String }
`;

interface Context {
  session: Session | null;
}

const resolvers = {
  Query: {
    me: (_root: unknown, _args: unknown, { session }: Context) => session?.user ?? null,
    secret(_root: unknown, _args: unknown, { session }: Context) {
      if (!session?.user) {
        throw new mercurius.ErrorWithProps("Sign in to read this.", { code: "UNAUTHENTICATED" });
      }
      return `for ${session.user.name} alone`;
    },
  },
};

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register(mercurius, {
    schema,
    resolvers: resolvers as never,
    context: async (request) => ({ session: await getSession(request, config) }),
  });
  return app;
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
