/**
 * The application most tests talk to: a password, a session route, nothing else.
 *
 * @module
 */
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";

/** A secret of the length the contract asks for. */
export const SECRET = "a-test-secret-of-at-least-32-characters";

/** A password provider. The password of every user is `open`. */
export function passwordProvider(onAuthorize: (fields: unknown) => void = () => {}) {
  return Credentials({
    credentials: { username: {}, password: { type: "password" } },
    authorize(fields) {
      onAuthorize(fields);
      const { username, password } = fields as Record<string, string>;
      return password === "open" ? { id: `id-${username}`, name: username ?? null } : null;
    },
  });
}

/** A configuration that needs nothing of the environment. */
export function testConfig(overrides: Partial<FastifyAuthConfig> = {}): FastifyAuthConfig {
  return { providers: [passwordProvider()], secret: SECRET, trustHost: true, ...overrides };
}

/** An application with the plugin at `/auth` and the session at `/me`. */
export async function testApp(
  config: FastifyAuthConfig = testConfig(),
  options: FastifyServerOptions & { prefix?: string } = {},
): Promise<FastifyInstance> {
  const { prefix = "/auth", ...serverOptions } = options;
  const app = Fastify(serverOptions as FastifyServerOptions) as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  return app;
}

/** One line of a captured log. */
export interface LogLine {
  level: number;
  msg: string;
  [key: string]: unknown;
}

/** A logger option for Fastify, and the lines it wrote. Levels are pino's: 30 info, 40 warn, 50 error. */
export function captureLog(): { logger: NonNullable<FastifyServerOptions["logger"]>; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { logger: { level: "debug", stream }, lines };
}
