// Renamed: @fastify/session, where it is installed as well, declares a `Session` of its own in "fastify"
import type { Session as AuthSession } from "fastify-authjs";

declare module "fastify" {
  interface FastifyReply {
    /** Who is signed in; null when nobody is, or nobody asked yet. */
    session: AuthSession | null;
  }
}
