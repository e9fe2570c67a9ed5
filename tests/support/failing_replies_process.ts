/**
 * An application as a process of its own whose replies fail in every way that Fastify lets them. With `BARE` set it does
 * without the plugin, for the answers that Fastify gives. It prints the port it listens on and runs until its input ends.
 *
 * @module
 */
import { Readable } from "node:stream";
import process from "node:process";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import { FAILURES, READS } from "./failing_replies.ts";
import { SECRET } from "./app.ts";

const bare = Boolean(process.env.BARE);
const elsewhere = "https://provider.example";
const config: FastifyAuthConfig = {
  providers: [{
    id: "elsewhere",
    name: "Elsewhere",
    type: "oauth",
    clientId: "client",
    clientSecret: "secret",
    authorization: `${elsewhere}/authorize`,
    token: `${elsewhere}/token`,
    userinfo: `${elsewhere}/userinfo`,
  }],
  secret: SECRET,
  trustHost: true,
  session: { updateAge: 0 },
  callbacks: {
    async jwt({ token }) {
      await pause();
      return { ...token, renewed: true };
    },
  },
};

/** Long enough for a handler that does not wait to be done before. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

const read = (request: FastifyRequest) => bare ? pause() : getSession(request, config);
const guard = bare ? pause : requireSession(config);

/** A value that Node refuses to write into a header. */
const UNWRITABLE = "\u0100";

const failures: Record<(typeof FAILURES)[number], (reply: FastifyReply) => unknown> = {
  header: (reply) => reply.header("x-name", UNWRITABLE).send("text"),
  location: (reply) => reply.redirect(`/${UNWRITABLE}`),
  cookie: (reply) => reply.header("set-cookie", `name=${UNWRITABLE}`).send("text"),
  payload: (reply) => reply.type("text/plain").send(5),
  response: (reply) => reply.send(new Response("text", { headers: { "x-name": "fine" } })),
  consumed: (reply) => {
    const response = new Response("text");
    void response.text();
    return reply.send(response);
  },
  stream: (reply) => reply.header("x-name", UNWRITABLE).send(Readable.from(["text"])),
  brokenStream: (reply) =>
    reply.send(
      new Readable({
        read() {
          this.destroy(new Error("broken"));
        },
      }),
    ),
  thrown: (reply) => {
    reply.header("x-name", UNWRITABLE);
    throw new Error("thrown");
  },
};

function addRoutes(app: FastifyInstance, prefix: string): void {
  for (const name of FAILURES) {
    const fail = failures[name];
    const handlers: Record<
      (typeof READS)[number],
      (request: FastifyRequest, reply: FastifyReply) => unknown
    > = {
      awaited: async (request, reply) => {
        await read(request);
        return fail(reply);
      },
      hasty: (request, reply) => {
        void read(request);
        fail(reply);
      },
      guarded: (_request, reply) => void fail(reply),
    };
    for (const how of READS) {
      const options = how === "guarded" ? { onRequest: guard as typeof pause } : {};
      app.get(`${prefix}/${how}/${name}`, options, handlers[how] as never);
    }
  }
}

const app = Fastify();
app.addHook("onSend", (request, reply, payload, next) => {
  if (request.headers["x-break"]) reply.header("x-name", UNWRITABLE);
  // Blocks the redirect of a form, for which a page is sent then, once it is made.
  if (request.headers["x-policy"]) reply.header("content-security-policy", "form-action 'self'");
  next(null, payload);
});
if (!bare) await app.register(FastifyAuth(config), { prefix: "/auth" });
addRoutes(app, "/plain");
await app.register((scope, _options, done) => {
  scope.addHook("onSend", (_request, _reply, payload, next) => next(null, payload));
  addRoutes(scope, "/hooked");
  done();
});
app.get("/alive", () => "yes");

process.stdin.on("end", () => void app.close()).resume();
const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
console.log(`port ${address.port}`);
