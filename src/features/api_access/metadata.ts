/** The metadata of the protected resource (RFC 9728) and of the issuer of our tokens (RFC 8414). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AuthInUse } from "../../core/context.ts";
import { requireOrigin } from "../../http/origin.ts";
import { pathsIn, rootOf } from "../../instance/mount.ts";
import type { FastifyAuthConfig } from "../../types.ts";
import type { AuthInstance } from "../../instance/auth_instance.ts";
import { PUBLIC_KEY_ALGORITHMS } from "../../provider/openid_client.ts";

const RESOURCE = "/.well-known/oauth-protected-resource", SERVER = "/.well-known/oauth-authorization-server";

/** Adds the routes to the application, which any site may read; with several configurations those of the first. */
export function addMetadata(scope: FastifyInstance, auth: AuthInUse, { apiAccess }: FastifyAuthConfig): void {
  const root = rootOf(scope);
  if (root.hasRoute({ method: "GET", url: RESOURCE })) return;
  const { issuers = [], scopes } = apiAccess!;
  const send = (reply: FastifyReply, body: object) =>
    reply.header("access-control-allow-origin", "*").header("cache-control", "public, max-age=300").send(
      body,
    );
  const originOf = (request: FastifyRequest) => requireOrigin(request, auth.config.origin).href;
  const resource = (request: FastifyRequest, reply: FastifyReply) => {
    const path = new URL(request.raw.url ?? "", "http://localhost").pathname.slice(RESOURCE.length);
    return send(reply, {
      resource: originOf(request) + path,
      authorization_servers: issuers.map(({ issuer }) => issuer),
      ...(scopes && { scopes_supported: scopes }),
      bearer_methods_supported: ["header"],
      dpop_signing_alg_values_supported: PUBLIC_KEY_ALGORITHMS,
    });
  };
  root.get(RESOURCE, resource);
  root.get(`${RESOURCE}/*`, resource);
  root.get(`${SERVER}/*`, (request, reply) => {
    const mount = pathsIn(root, auth as AuthInstance)?.mount ?? "";
    const issuer = originOf(request) + mount;
    if (new URL(request.raw.url ?? "", "http://localhost").pathname !== SERVER + mount) {
      return reply.callNotFound();
    }
    return send(reply, { issuer, jwks_uri: `${issuer}/jwks`, response_types_supported: [] });
  });
}
