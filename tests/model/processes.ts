/**
 * The processes of the model test: two applications, each with a configuration of its own, that share a store, a
 * database and a provider.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { withAccountList, withAccountUpdate, withSessionList } from "fastify-authjs/adapters";
import { testConfig } from "../support/app.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import type { Gates } from "./gates.ts";
import type { RotatingProvider } from "./provider.ts";

/** What is kept where, and who refreshes the tokens of the provider. */
export const VARIANTS = ["refreshed by the jwt callback", "refreshed in the token", "in a database"] as const;

/** One of them. */
export type Variant = typeof VARIANTS[number];

type Settings = Partial<FastifyAuthConfig>;
type Fields = Record<string, number>;

/** The store that the processes share. */
function sharedStore(variant: Variant, gates: Gates): Settings {
  return {
    store: gates.hold("store", memoryStore()),
    ...variant === "refreshed in the token" && { revocable: true },
  };
}

/** Sessions in a token. */
function tokenSettings(variant: Variant, gates: Gates, provider: RotatingProvider): Settings {
  const ofCallback = variant === "refreshed by the jwt callback";
  const tokensOf = (refreshToken: string) => ({ refreshToken, due: Date.now() + 60_000 });
  const { jwt } = gates.hold("callbacks", {
    async jwt({ token, account, trigger, session }: Parameters<JwtCallback>[0]) {
      if (account) {
        const sid = account.access_token!.match(/\d+(?=\/)/)![0];
        return { ...token, sid, fields: {}, ...ofCallback && tokensOf(account.refresh_token!) };
      }
      if (trigger === "update") return { ...token, fields: { ...token.fields as Fields, ...session } };
      if (!ofCallback || Number(token.due) > Date.now()) return token;
      return { ...token, ...tokensOf((await provider.refresh(String(token.refreshToken))).refresh_token) };
    },
  });
  return {
    refreshTokens: !ofCallback,
    callbacks: { jwt, session: ({ session, token: { sid, fields } }) => ({ ...session, sid, fields }) },
  };
}

type JwtCallback = NonNullable<NonNullable<FastifyAuthConfig["callbacks"]>["jwt"]>;

/** Sessions as rows, with fields that the application keeps beside them. */
function databaseSettings(gates: Gates): Settings {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const { accounts, sessions } = tables;
  const fieldsOf = new Map<string, Fields>();
  const adapter = gates.hold("adapter", memoryAdapter(tables));
  const ofUser = <T extends { userId: string }>(rows: T[], id: string) => rows.filter(({ userId }) => userId === id);
  const listing = withSessionList(adapter, (id) => Promise.resolve(ofUser([...sessions.values()], id)));
  return {
    refreshTokens: true,
    adapter: withAccountUpdate(
      withAccountList(listing, (id) => Promise.resolve(ofUser(accounts, id))),
      (account) => {
        Object.assign(
          accounts.find((each) => each.providerAccountId === account.providerAccountId)!,
          account,
        );
        return Promise.resolve();
      },
    ),
    callbacks: {
      session({ session: { sessionToken: sid, user, expires }, newSession }) {
        const fields = { ...fieldsOf.get(sid), ...newSession };
        fieldsOf.set(sid, fields);
        return { user: { name: user.name! }, expires: new Date(expires).toISOString(), sid, fields };
      },
    },
  };
}

/** What the processes of a run have in common. */
export function sharedSettings(variant: Variant, gates: Gates, provider: RotatingProvider): Settings {
  return {
    providers: [provider.provider],
    session: { ephemeralMaxAge: 30 * 24 * 60 * 60 },
    ...sharedStore(variant, gates),
    ...variant === "in a database" ? databaseSettings(gates) : tokenSettings(variant, gates, provider),
  };
}

/**
 * Starts a process.
 *
 * @param ids Gets the ids of users who signed in, by their names.
 * @param secret Those of the process, of which the first seals.
 */
export async function startProcess(
  shared: Settings,
  gates: Gates,
  ids: Map<string, string>,
  secret: string[],
): Promise<FastifyInstance> {
  const signIn = ({ user }: { user: { name?: string | null; id?: string } }) => void ids.set(user.name!, user.id!);
  const auth = createAuth(testConfig({ ...shared, secret, events: { signIn } }));
  const app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/read", async (request) => {
    const session = await auth.getSession(request);
    // A handler may take long, and other processes go on.
    await gates.pass("before the reply");
    return { session };
  });
  app.get("/access", async (request) => ({ token: await auth.getAccessToken(request, "acme") }));
  app.get("/sessions", (request) => auth.listSessions(request));
  app.post<{ Body: { remember?: boolean } }>("/sign-in", (request, reply) => {
    const { remember: rememberMe } = request.body;
    return auth.signIn(request, reply, "acme", { redirect: false, ...rememberMe !== undefined && { rememberMe } });
  });
  app.post("/update", (request, reply) => auth.updateSession(request, reply, request.body as object));
  app.post("/sign-out", (request, reply) => auth.signOut(request, reply, { redirect: false }));
  app.post<{ Body: { id: string } }>(
    "/revoke",
    async ({ body }) => ({ ended: await auth.revokeSession(body.id) }),
  );
  app.post<{ Body: { user: string } }>("/revoke-all", async ({ body }) => {
    await auth.revokeSessions(body.user);
    return {};
  });
  await app.ready();
  return app;
}
