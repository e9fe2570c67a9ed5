/** Routes in the documents of `@fastify/swagger`: those of the plugin, and those that are guarded. */
export { authOperation } from "./auth_routes.ts";
export { describeGuards } from "./guarded_routes.ts";
