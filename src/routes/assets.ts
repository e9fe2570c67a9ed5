/** `<prefix>/assets/…`: the files that the built-in pages load. */
import type { FastifyReply } from "fastify";
import type { AuthInUse } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";

/** A year, in seconds: the name changes with the content. */
const IMMUTABLE = "public, max-age=31536000, immutable";

/** Sends a file, of the configuration that the request is for. */
export async function sendAsset(
  reply: FastifyReply,
  file: string,
  auth: Pick<AuthInUse, "assets">,
): Promise<FastifyReply> {
  const asset = (await auth.assets()).find(file);
  if (asset === undefined) throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such file.");
  return reply
    .type(asset.type)
    // While processes are replaced, a page of the one may load a file from the other, which has another
    // content.
    .header("cache-control", asset.file === file ? IMMUTABLE : "no-cache")
    .header("x-content-type-options", "nosniff")
    .header("cross-origin-resource-policy", "same-origin")
    .send(asset.content);
}
