/**
 * The one configuration that the files of the application import: the guard has to get the very object that the plugin
 * got.
 *
 * @module
 */
import type { FastifyAuthConfig } from "fastify-authjs";
import { authConfig } from "../auth.ts";

export const config: FastifyAuthConfig = authConfig();
