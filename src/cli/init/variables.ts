/** The environment variables of a new project. */
import { randomBytes } from "node:crypto";
import { makeSecret } from "../secret.ts";
import type { Choices } from "./choices.ts";
import { callbackPath, optionVariable, ownVariables, type Provider, usesSmtp } from "./provider.ts";

/** The address of the project on the machine of its developer. */
export const LOCAL_URL = "http://localhost:3000";

/** A variable. */
export interface Variable {
  readonly name: string;
  /** What it is. */
  readonly about: string;
  /** In `.env.example`. Empty where there is nothing to begin with. */
  readonly example: string;
  /** In `.env`, where it differs: a secret that was made for this project. */
  readonly own?: string;
  /** In `.env.test`. */
  readonly test: string;
}

/** The variables of a project, in the order of the files that have them. */
export function variablesOf({ providers, database }: Choices): Variable[] {
  return [
    {
      name: "AUTH_SECRET",
      about: "Encrypts cookies. Make one with: npx fastify-authjs secret",
      example: "",
      own: makeSecret(),
      test: "only-for-tests-and-longer-than-32-characters",
    },
    {
      name: "AUTH_URL",
      about: "The address that users type. In production: https://app.example",
      example: LOCAL_URL,
      test: LOCAL_URL,
    },
    ...database === "none" ? [] : [DATABASE_URLS[database]],
    ...providers.flatMap(variablesOfProvider),
    ...providers.some(({ type }) => type === "email") ? [EMAIL_FROM] : [],
    ...providers.some(usesSmtp) ? [EMAIL_SERVER] : [],
    ...providers.some(({ type }) => type === "credentials") ? passwordVariables() : [],
  ];
}

const DATABASE_URLS = {
  libsql: {
    name: "DATABASE_URL",
    about: "A file, or a server of libSQL: libsql://…",
    example: "file:local.db",
    test: "file::memory:?cache=shared",
  },
  postgres: {
    name: "DATABASE_URL",
    about: "PostgreSQL",
    example: "postgres://postgres:postgres@localhost:5432/postgres",
    // The tests have a database in their own process.
    test: "",
  },
} as const;

const EMAIL_FROM: Variable = {
  name: "EMAIL_FROM",
  about: "The sender of sign-in links",
  example: "",
  test: "test@example.com",
};

const EMAIL_SERVER: Variable = {
  name: "EMAIL_SERVER",
  about: "The server that sends them: smtp://user:password@smtp.example:587",
  example: "",
  test: "smtp://localhost:2525",
};

function passwordVariables(): Variable[] {
  return [
    {
      name: "ADMIN_EMAIL",
      about: "The one user who has a password, until src/users.ts finds yours",
      example: "admin@example.com",
      test: "admin@example.com",
    },
    {
      name: "ADMIN_PASSWORD",
      about: "The password of this user",
      example: "",
      own: randomBytes(15).toString("base64url"),
      test: "only-for-tests",
    },
  ];
}

function variablesOfProvider(provider: Provider): Variable[] {
  const { name, options = [] } = provider;
  return [
    ...ownVariables(provider).map((variable) => ({
      name: variable,
      about: `${name}: ${aboutOf(variable)}`,
      example: "",
      test: variable.endsWith("_ISSUER") ? "https://issuer.example" : "test",
    })),
    ...options.map((option) => ({
      name: optionVariable(provider, option),
      about: `${name}: its option ${option}`,
      ...valuesOfOption(provider, option),
    })),
  ];
}

function aboutOf(variable: string): string {
  if (variable.endsWith("_ISSUER")) return "the address that its discovery document is below";
  if (variable.endsWith("_KEY")) return "the API key";
  return variable.endsWith("_SECRET") ? "the client secret" : "the client id";
}

function valuesOfOption(provider: Provider, option: string): Pick<Variable, "example" | "test"> {
  if (option === "redirectUri") {
    const url = `${LOCAL_URL}${callbackPath(provider)}`;
    return { example: url, test: url };
  }
  return { example: "", test: option === "userinfo" ? "https://api.example/userinfo" : "test" };
}
