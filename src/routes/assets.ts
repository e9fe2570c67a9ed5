/** `<prefix>/assets/…`: the files that the built-in pages load. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { FastifyAuthError } from "../errors.ts";
import { AUTH_ROUTE, HIDDEN } from "../http/auth_route.ts";
import type { Assets } from "../pages/assets.ts";

/** A year, in seconds: the name changes with the content. */
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Adds the route of the assets. */
export function addAssets(
  scope: FastifyInstance,
  assetsOf: (request: FastifyRequest) => Promise<Assets>,
): void {
  const handler = async (request: FastifyRequest<{ Params: { file: string } }>, reply: FastifyReply) => {
    const { file } = request.params;
    const asset = (await assetsOf(request as FastifyRequest)).find(file);
    if (asset === undefined) throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such file.");
    return reply
      .type(asset.type)
      // While processes are replaced, a page of the one may load a file from the other, which has another
      // content.
      .header("cache-control", asset.file === file ? IMMUTABLE : "no-cache")
      .header("x-content-type-options", "nosniff")
      .header("cross-origin-resource-policy", "same-origin")
      .send(asset.content);
  };
  const config: object = { [AUTH_ROUTE]: true };
  scope.route<{ Params: { file: string } }>({
    method: "GET",
    url: "/assets/:file",
    config,
    schema: HIDDEN,
    handler,
  });
}
