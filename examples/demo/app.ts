import { mkdir } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import cors from "@fastify/cors";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { addAssets } from "./assets.ts";
import { authConfig } from "./auth.ts";
import { openDatabase } from "./database.ts";
import { startMailServer } from "./mail.ts";
import { startOpenIdProvider } from "./openid_provider.ts";
import { addRoutes } from "./routes.ts";
import { loadSecret } from "./secret.ts";

export interface DemoOptions {
  /** Where the database and the secret are kept; made when it is not there. */
  readonly dataDir: string;
  /** A PostgreSQL to use instead of a file in the data folder. */
  readonly databaseUrl?: string | undefined;
  /** Other origins whose pages may sign in here and read the session, with `fastify-authjs/client`. */
  readonly trustedOrigins?: readonly string[];
  readonly logger?: FastifyServerOptions["logger"];
}

export interface Demo {
  /** The application, for `listen`; closing it closes everything the demo started. */
  readonly app: FastifyInstance;
  /** The address of the OpenID Provider. */
  readonly issuer: string;
}

/** Starts what the application needs, and builds the application. */
export async function buildDemo(
  { dataDir, databaseUrl, trustedOrigins = [], logger = false }: DemoOptions,
): Promise<Demo> {
  // Browsers keep connections open; an ending demo does not wait for them.
  const app = Fastify({ logger, forceCloseConnections: true });
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const secret = await loadSecret(dataDir);
    const database = await openDatabase(dataDir, databaseUrl);
    app.addHook("onClose", () => database.close());
    const mail = await startMailServer();
    app.addHook("onClose", () => mail.close());
    const openid = await startOpenIdProvider("Loopback ID", logger);
    app.addHook("onClose", () => openid.close());
    const work = await startOpenIdProvider("Loopback Work", logger);
    app.addHook("onClose", () => work.close());

    const config = authConfig({ secret, database, mail, openid, work, trustedOrigins });
    if (trustedOrigins.length > 0) {
      await app.register(cors, { origin: [...trustedOrigins], credentials: true });
    }
    await app.register(FastifyAuth(config), { prefix: "/auth" });
    await addAssets(app);
    addRoutes(app, { config, database, mail });

    // The callback URLs hold the port, which is known now at the earliest.
    app.addHook("onListen", () => {
      const callbacks = (id: string) => originsOf(app).map((origin) => `${origin}/auth/callback/${id}`);
      openid.open(callbacks("local"));
      work.open(callbacks("work"));
    });
    await app.ready();
    return { app, issuer: openid.issuer };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Every way a browser on this machine may write the application's address; the first is the one to show. */
export function originsOf(app: FastifyInstance): [string, ...string[]] {
  const { port } = app.server.address() as AddressInfo;
  return [`http://localhost:${port}`, `http://127.0.0.1:${port}`, `http://[::1]:${port}`];
}
