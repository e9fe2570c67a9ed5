/**
 * A straight port of the Express integration to Fastify, no more than it needs to work: the whole of core answers
 * each session read and each auth route. As in the unmerged port of Auth.js itself, @fastify/formbody reads forms.
 */
import { Auth } from "@auth/core";
import formbody from "@fastify/formbody";

const origin = (request) => `${request.protocol}://${request.host}`;

/** The session of a request, by a request to core's session action. */
export async function getSession(request, config) {
  const headers = { cookie: request.headers.cookie ?? "" };
  const response = await Auth(
    new Request(`${origin(request)}/auth/session`, { headers }),
    config,
  );
  const session = await response.json();
  return session && Object.keys(session).length > 0 ? session : null;
}

/** The body as core reads it. */
function encodeBody({ body, headers }) {
  if (body === undefined) return undefined;
  return headers["content-type"]?.startsWith("application/json") ? JSON.stringify(body) : new URLSearchParams(body);
}

/** Every auth route. */
export function authRoutes(config) {
  return (scope, _options, done) => {
    scope.register(formbody);
    scope.all("/*", async (request, reply) => {
      const headers = Object.entries(request.headers).filter(([, value]) => typeof value === "string");
      const response = await Auth(
        new Request(`${origin(request)}${request.url}`, {
          method: request.method,
          headers,
          body: encodeBody(request),
        }),
        config,
      );
      reply.code(response.status);
      response.headers.forEach((value, name) => name !== "set-cookie" && reply.header(name, value));
      for (const cookie of response.headers.getSetCookie()) {
        reply.header("set-cookie", cookie);
      }
      return reply.send(await response.text());
    });
    done();
  };
}
