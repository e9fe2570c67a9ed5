/** `src/auth.ts` and `src/users.ts`: what Auth.js is told. */
import type { Choices } from "../choices.ts";
import { optionVariable, type Provider, usesSmtp } from "../provider.ts";

/** `src/auth.ts`. */
export function authSource({ providers, database }: Choices): string {
  const has = (type: Provider["type"]) => providers.some((provider) => provider.type === type);
  const hasDatabase = database !== "none";
  const imports = [
    ...providers.map(({ module, factory }) => [`fastify-authjs/providers/${module}`, factory] as const),
  ].map(([from, name]) => `import ${name} from "${from}";`);
  const own = [
    hasDatabase && `import type { Database } from "./database.ts";`,
    needsSettings(providers) && `import { setting } from "./environment.ts";`,
    has("credentials") && `import { checkPassword } from "./users.ts";`,
  ];
  const settings = [
    hasDatabase && "adapter: database.adapter,",
    hasDatabase && has("credentials") && "credentialsDatabaseSessions: true,",
    has("credentials") && "rateLimit: true,",
    has("webauthn") && "experimental: { enableWebAuthn: true }, // Auth.js calls passkeys that",
  ];
  return `import { createAuth } from "fastify-authjs";
${lines([...imports, ...own])}
/**
 * What Auth.js is told. Secrets, client ids and addresses are in the environment:
 * .env.example has the names.
 */
export function makeAuth(${hasDatabase ? "database: Database" : ""}) {
  return createAuth({
${
    lines([
      ...settings,
      "providers: [",
      ...providers.map((provider) => indent(2, `${entryOf(provider, hasDatabase)},`)),
      "],",
    ].map((line) => line && indent(4, line)))
  }  });
}

export type Auth = ReturnType<typeof makeAuth>;
`;
}

/** Whether a provider is given more than Auth.js finds in the environment itself. */
export function needsSettings(providers: readonly Provider[]): boolean {
  return providers.some(({ type, options = [] }) => type === "email" || options.length > 0);
}

/** The entry of a provider. */
function entryOf(provider: Provider, hasDatabase: boolean): string {
  const { factory, type, options = [] } = provider;
  if (type === "credentials") return credentials(hasDatabase);
  if (type === "webauthn") {
    return `// Users who are signed in add a passkey, and no others
${factory}({ getUserInfo: () => Promise.resolve(null) })`;
  }
  const members = [
    ...usesSmtp(provider) ? [`server: setting("EMAIL_SERVER")`] : [],
    ...type === "email" ? [`from: setting("EMAIL_FROM")`] : [],
    ...options.map((option) => `${option}: setting("${optionVariable(provider, option)}")`),
  ];
  if (members.length === 0) return factory;
  if (type === "email") return call(factory, members);
  return `(fromEnvironment) =>\n${indent(2, call(factory, ["...fromEnvironment", ...members]))}`;
}

function call(factory: string, members: readonly string[]): string {
  return `${factory}({\n${members.map((member) => `  ${member},\n`).join("")}})`;
}

function credentials(hasDatabase: boolean): string {
  const database = hasDatabase ? "database, " : "";
  return `Credentials({
  credentials: {
    email: { type: "email" },
    password: { type: "password" },
  },
  authorize: ({ email, password }) =>
    checkPassword(${database}String(email), String(password)),
})`;
}

/** `src/users.ts`: the user who has a password. */
export function usersSource({ database }: Choices): string {
  return database === "none" ? USERS : USERS_IN_DATABASE;
}

const HASHED = `/** A hash, so that a comparison takes as long for every password. */
function hashed(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

function isAdmin(email: string, password: string): boolean {
  const correct = timingSafeEqual(
    hashed(password),
    hashed(setting("ADMIN_PASSWORD")),
  );
  return correct && email === setting("ADMIN_EMAIL");
}
`;

const USERS = `import { createHash, timingSafeEqual } from "node:crypto";
import { setting } from "./environment.ts";

/**
 * The user with this address and password, or null. So far there is one, in the
 * environment; put the passwords of yours into a database, hashed with scrypt.
 */
export function checkPassword(email: string, password: string) {
  if (!isAdmin(email, password)) return null;
  return { id: email, email, name: "Admin" };
}

${HASHED}`;

const USERS_IN_DATABASE = `import { createHash, timingSafeEqual } from "node:crypto";
import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { setting } from "./environment.ts";
import { users } from "./schema.ts";

/**
 * The user with this address and password, or null. So far there is one, whose
 * password is in the environment; put those of yours into a table, hashed with
 * scrypt.
 */
export async function checkPassword(
  { orm }: Database,
  email: string,
  password: string,
) {
  if (!isAdmin(email, password)) return null;
  const [known] = await orm.select().from(users).where(eq(users.email, email));
  if (known) return known;
  const added = await orm.insert(users).values({ email, name: "Admin" })
    .returning();
  return added[0] ?? null;
}

${HASHED}`;

/** The lines that are there, each with its end. */
function lines(texts: readonly (string | false)[]): string {
  return texts.filter((text) => text !== false).map((text) => `${text}\n`).join("");
}

function indent(spaces: number, text: string): string {
  return text.replace(/^(?=.)/gm, " ".repeat(spaces));
}
