import type { Session } from "fastify-authjs";

declare module "fastify" {
  interface FastifyReply {
    /** Who is signed in; null when nobody is, or nobody asked yet. */
    session: Session | null;
  }
}
