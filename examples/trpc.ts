/**
 * tRPC: the session in the context, and a procedure that needs one.
 *
 * @module
 */
import { initTRPC, TRPCError } from "@trpc/server";
import {
  type CreateFastifyContextOptions,
  fastifyTRPCPlugin,
  type FastifyTRPCPluginOptions,
} from "@trpc/server/adapters/fastify";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

const config = authConfig();

async function createContext({ req }: CreateFastifyContextOptions) {
  return { session: await getSession(req, config) };
}

const t = initTRPC.context<typeof createContext>().create();

const signedIn = t.procedure.use(({ ctx, next }) => {
  if (!ctx.session?.user) throw new TRPCError({ code: "UNAUTHORIZED" });
  return next({ ctx: { user: ctx.session.user } }); // from here on there is a user, in the types, too
});

const router = t.router({
  me: signedIn.query(({ ctx }) => ctx.user),
});

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify({ routerOptions: { maxParamLength: 5000 } }); // tRPC puts the names of a batch in the path
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register(
    fastifyTRPCPlugin,
    {
      prefix: "/trpc",
      trpcOptions: { router, createContext },
    } satisfies FastifyTRPCPluginOptions<typeof router>,
  );
  return app;
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
