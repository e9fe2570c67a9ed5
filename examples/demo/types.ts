// Renamed: if @fastify/session is installed as well, it declares a `Session` of its own in "fastify"
import type { Session as AuthSession } from "fastify-authjs";

declare module "fastify" {
  interface FastifyReply {
    /** The session; null without one, and before it was read. */
    session: AuthSession | null;
  }
}
