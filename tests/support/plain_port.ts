/**
 * The integration of Auth.js with Express, written for Fastify and nothing added: what an application that comes from
 * there is used to.
 *
 * @module
 */
import { Auth, type AuthConfig, setEnvDefaults } from "@auth/core";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import process from "node:process";

/** An application whose `/auth/*` is answered by core. */
export function plainPort(config: AuthConfig): FastifyInstance {
  const app = Fastify() as FastifyInstance;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    app.getDefaultJsonParser("error", "error"),
  );
  app.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => {
      done(null, Object.fromEntries(new URLSearchParams(String(body))));
    },
  );
  app.route({
    method: ["GET", "POST", "PUT", "DELETE"],
    url: "/auth/*",
    async handler(request, reply) {
      const given: AuthConfig = { ...config, basePath: "/auth", logger: SILENT };
      setEnvDefaults(process.env, given);
      const response = await Auth(toWebRequest(request), given);
      reply.code(response.status);
      for (const [name, value] of response.headers) {
        if (name !== "set-cookie") reply.header(name, value);
      }
      for (const line of response.headers.getSetCookie()) reply.header("set-cookie", line);
      return reply.send(await response.text());
    },
  });
  return app;
}

const SILENT = { error() {}, warn() {}, debug() {} };

function toWebRequest({ method, url, headers, body, host }: FastifyRequest): Request {
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (name !== "content-length" && value !== undefined) sent.append(name, String(value));
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  return new Request(`http://${host}${url}`, {
    method,
    headers: sent,
    ...(hasBody && {
      body: isJson ? JSON.stringify(body ?? {}) : new URLSearchParams(body as Record<string, string> ?? {}).toString(),
    }),
  });
}
