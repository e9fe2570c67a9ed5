import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import type { DemoDatabase } from "./database.ts";
import type { MailServer } from "./mail.ts";
import { devicesPage } from "./pages/devices.ts";
import { notFoundPage } from "./pages/error.ts";
import { homePage } from "./pages/home.ts";
import { sendPage } from "./pages/html.ts";
import { inboxPanel, type View } from "./pages/layout.ts";
import { type CookieSize, protectedPage, sessionPage } from "./pages/members.ts";
import { inboxPage, messagePage } from "./pages/messages.ts";
import { passkeysPage } from "./pages/passkeys.ts";
import "./types.ts";

/** What the routes show. */
export interface RouteParts {
  readonly config: FastifyAuthConfig;
  readonly database: DemoDatabase;
  readonly mail: MailServer;
}

/** Adds every page of the demo. */
export function addRoutes(app: FastifyInstance, parts: RouteParts): void {
  const { config, mail } = parts;
  app.decorateReply("session", null);

  // The pages are all built with the session at hand.
  app.register((pages, _options, done) => {
    pages.addHook("preHandler", async (request, reply) => {
      reply.session ??= await getSession(request, config);
    });
    addPublicPages(pages, parts);
    addInbox(pages, parts);
    done();
  });

  // Nothing in here is reached without a session.
  app.register((members, _options, done) => {
    members.addHook("onRequest", requireSession(config));
    members.get(
      "/protected",
      (request, reply) => sendPage(reply, protectedPage(viewOf(request, reply, mail))),
    );
    addDevices(members, parts);
    addPasskeys(members, parts);
    done();
  });

  // A single guarded route; a program is told with a status instead of a page.
  app.get(
    "/api/me",
    { onRequest: requireSession(config) },
    (_request, reply) => reply.header("cache-control", "no-store").send(reply.session),
  );
}

function addPublicPages(pages: FastifyInstance, { database, mail }: RouteParts): void {
  pages.get("/", (request, reply) => sendPage(reply, homePage(viewOf(request, reply, mail))));
  pages.get("/session", async (request, reply) => {
    const id = reply.session?.user?.id;
    const record = id ? await database.describeUser(id) : null;
    return sendPage(reply, sessionPage(viewOf(request, reply, mail), cookieSizes(request), record));
  });
  pages.setNotFoundHandler((request, reply) => sendPage(reply.code(404), notFoundPage(viewOf(request, reply, mail))));
}

function addDevices(members: FastifyInstance, { config, mail }: RouteParts): void {
  const auth = createAuth(config);
  members.get("/devices", async (request, reply) => {
    const sessions = await auth.listSessions(request);
    return sendPage(reply, devicesPage(viewOf(request, reply, mail), sessions));
  });
  // One session of the user, or without an id all but that of the request.
  members.delete<{ Querystring: { id?: string } }>("/devices", async (request, reply) => {
    const sessions = await auth.listSessions(request);
    const { id } = request.query;
    if (id === undefined) {
      const current = sessions.find((session) => session.current);
      await auth.revokeSessions(reply.session?.user?.id ?? "", { except: current?.id });
      return reply.code(204).send();
    }
    // Only a session of the user's own.
    const own = sessions.find((session) => session.id === id);
    return reply.code(own && await auth.revokeSession(own.id) ? 204 : 404).send();
  });
}

function addPasskeys(members: FastifyInstance, { config, mail }: RouteParts): void {
  const auth = createAuth(config);
  members.get("/passkeys", async (request, reply) => {
    const passkeys = await auth.listPasskeys(request);
    return sendPage(reply, passkeysPage(viewOf(request, reply, mail), passkeys));
  });
  // No form can send DELETE, and no other site's script may.
  members.delete<{ Querystring: { id?: string } }>("/passkeys", async (request, reply) => {
    // The others are a password and a link to the address, which each user here has.
    await auth.removePasskey(request, String(request.query.id), { otherSignInMethod: true });
    return reply.code(204).send();
  });
}

function addInbox(pages: FastifyInstance, { mail }: RouteParts): void {
  const { inbox } = mail;
  type ById = { Params: { id: string } };
  const find = (request: FastifyRequest<ById>) => inbox.find(({ id }) => String(id) === request.params.id);

  pages.get("/inbox", (request, reply) => sendPage(reply, inboxPage(viewOf(request, reply, mail), inbox)));
  pages.get("/inbox/panel", (_request, reply) => sendPage(reply, inboxPanel(inbox)));
  pages.get<ById>("/inbox/:id", (request, reply) => {
    const message = find(request);
    return message ? sendPage(reply, messagePage(viewOf(request, reply, mail), message)) : reply.callNotFound();
  });
  pages.get<ById>("/inbox/:id/html", (request, reply) => {
    const message = find(request);
    if (!message) return reply.callNotFound();
    // A message can do no more here than in a mail program: open a link.
    return reply
      .type("text/html; charset=utf-8")
      .header("cache-control", "no-store")
      .header("content-security-policy", MESSAGE_POLICY)
      // As mail programs do, links open a window of their own.
      .send(`<base target="_blank">${message.html}`);
  });
}

const MESSAGE_POLICY = "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; " +
  "img-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'";

function viewOf(request: FastifyRequest, reply: FastifyReply, { inbox }: MailServer): View {
  const [path = "/"] = request.url.split("?");
  return { session: reply.session, inbox, path };
}

function cookieSizes({ headers: { cookie = "" } }: FastifyRequest): CookieSize[] {
  return cookie.split("; ").filter(Boolean).map((pair) => {
    const [name = ""] = pair.split("=");
    return { name, bytes: pair.length - name.length - 1 };
  });
}
