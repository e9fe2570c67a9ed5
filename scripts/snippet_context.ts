/** What the snippets of the documentation may use without saying where it comes from. */

/** Declarations that every snippet sees. A snippet that declares or imports the same name has its own. */
export const GLOBALS = `
import type { Adapter } from "@auth/core/adapters";
import type { RouteAuthConfig } from "fastify-authjs";

declare global {
  // The application
  const app: import("fastify").FastifyInstance;
  const config: FastifyAuthConfig;
  const auth: import("fastify-authjs").AuthObject;
  const customers: FastifyAuthConfig;
  const employees: FastifyAuthConfig;
  const providers: FastifyAuthConfig["providers"];
  const handler: () => Promise<string>;
  const prices: { apple: number };
  const user: { id: string; name: string };
  const username: string;
  const password: string;
  const showError: (text: string) => void;
  const isMember: NonNullable<import("fastify-authjs").RequireSessionOptions["authorize"]>;
  const refreshWhenExpired: NonNullable<NonNullable<FastifyAuthConfig["callbacks"]>["jwt"]>;
  const loginPage: (problem: string) => string;
  const deleteUser: (id: string | undefined) => Promise<void>;
  const ordersOf: (userId: string | undefined) => Promise<object[]>;
  const readCalendar: (accessToken: string) => Promise<object>;
  const passwordMatches: (userId: string, password: string) => Promise<boolean>;
  const adapter: Required<Adapter>;
  const client: import("ioredis").Redis;
  const pool: import("pg").Pool;

  // Packages
  const createAuth: typeof import("fastify-authjs").createAuth;
  const AuthActionError: typeof import("fastify-authjs").AuthActionError;
  type AuthActionError = import("fastify-authjs").AuthActionError;
  type InferSession<Auth> = import("fastify-authjs").InferSession<Auth>;
  const FastifyAuth: typeof import("fastify-authjs").FastifyAuth;
  const getSession: typeof import("fastify-authjs").getSession;
  const requireSession: typeof import("fastify-authjs").requireSession;
  type FastifyAuthConfig = import("fastify-authjs").FastifyAuthConfig;
  type FastifyRequest = import("fastify").FastifyRequest;
  type FastifyReply = import("fastify").FastifyReply;
  const withSessionList: typeof import("fastify-authjs/adapters").withSessionList;
  const memoryStore: typeof import("fastify-authjs").memoryStore;
  const redisStore: typeof import("fastify-authjs/redis").redisStore;
  const FastifyAuthInstrumentation:
    typeof import("fastify-authjs/opentelemetry").FastifyAuthInstrumentation;
  const createAuthClient: typeof import("fastify-authjs/client").createAuthClient;
  const { signIn, signOut, registerPasskey }: import("fastify-authjs/client").AuthClient;
  const signedIn: typeof import("fastify-authjs/testing").signedIn;
  const startIssuer: typeof import("fastify-authjs/testing").startIssuer;
  const issuer: import("fastify-authjs/testing").TestIssuer;
  const inject: Awaited<ReturnType<typeof import("fastify-authjs/testing").signedIn>>;
  const GitHub: typeof import("fastify-authjs/providers/github").default;
  const Google: typeof import("fastify-authjs/providers/google").default;
  const Keycloak: typeof import("fastify-authjs/providers/keycloak").default;
  const Credentials: typeof import("fastify-authjs/providers/credentials").default;
  const encode: typeof import("@auth/core/jwt").encode;
  const decode: typeof import("@auth/core/jwt").decode;
  const pg: typeof import("pg").default;
  const drizzle: typeof import("drizzle-orm/node-postgres").drizzle;
  const DrizzleAdapter: typeof import("@auth/drizzle-adapter").DrizzleAdapter;
  const PostgresAdapter: typeof import("@auth/pg-adapter").default;
  const SequelizeAdapter: typeof import("@auth/sequelize-adapter").default;
  const sequelize: import("sequelize").Sequelize;
  const swagger: typeof import("@fastify/swagger").default;
  const info: { title: string; version: string };
  const assert: typeof import("node:assert/strict");
  const test: typeof import("node:test").test;
  const build: () => Promise<import("fastify").FastifyInstance>;
}

declare module "fastify" {
  interface FastifyContextConfig extends RouteAuthConfig {}
}
`;

/** What an application declares of its replies, for snippets that do not declare it themselves. */
export const REPLY = `
import type { Session } from "fastify-authjs";

declare module "fastify" {
  interface FastifyReply {
    session: Session | null;
  }
}
`;

/** Files of an application that snippets import, by their path from the folder of all snippets. */
export const FILES: Readonly<Record<string, string>> = {
  "src/app.ts": `
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
export declare const config: FastifyAuthConfig;
export declare function build(): Promise<FastifyInstance>;
`,
};

/** The environment in which complete snippets run. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  AUTH_SECRET: "a-secret-for-the-snippets-of-32-characters",
  AUTH_GITHUB_ID: "id",
  AUTH_GITHUB_SECRET: "secret",
  AUTH_ACME_ID: "acme-client",
  AUTH_ACME_SECRET: "secret",
  LIBSQL_URL: "file::memory:?cache=shared",
  NODE_ENV: "development",
};
