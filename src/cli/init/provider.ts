/** A provider of Auth.js, as far as a new project has to know it. */

export interface Provider {
  /** The subpath that it is imported from, `fastify-authjs/providers/<module>`. */
  readonly module: string;
  /** Its id, which is in its callback URL and in the names of its variables. */
  readonly id: string;
  readonly name: string;
  readonly type: "oauth" | "oidc" | "email" | "credentials" | "webauthn";
  readonly factory: string;
  readonly issuer?: true;
  readonly options?: readonly string[];
  readonly deprecated?: true;
}

/** Whether its users come from another service, which has to know the callback URL. */
export function isOAuth({ type }: Provider): boolean {
  return type === "oauth" || type === "oidc";
}

/** Whether it needs tables: for links that were mailed, for passkeys, or for passwords. */
export function needsDatabase({ type }: Provider): boolean {
  return type === "email" || type === "webauthn" || type === "credentials";
}

export function usesSmtp({ module }: Provider): boolean {
  return module === "nodemailer" || module === "email";
}

export function callbackUrl({ id }: Provider): string {
  return `http://localhost:3000/auth/callback/${id}`;
}

const SETTINGS: Readonly<Record<string, string>> = {
  ID: "the client id",
  SECRET: "the client secret",
  ISSUER: "the address that its discovery document is below",
  KEY: "the API key",
};

const TEST_VALUES: Readonly<Record<string, string>> = {
  ISSUER: "https://issuer.example",
  userinfo: "https://api.example/userinfo",
};

/** The variables of a provider: those that Auth.js itself reads, then those of its further options. */
export function variablesOf(provider: Provider) {
  const { name, type, issuer, options = [] } = provider;
  const settings = [
    ...isOAuth(provider) ? ["ID", "SECRET"] : [],
    ...issuer ? ["ISSUER"] : [],
    ...type === "email" && !usesSmtp(provider) ? ["KEY"] : [],
    ...options,
  ];
  return settings.map((setting) => {
    const example = setting === "redirectUri" ? callbackUrl(provider) : "";
    return {
      name: variableOf(provider, setting),
      about: `${name}: ${SETTINGS[setting] ?? `its option ${setting}`}`,
      example,
      test: TEST_VALUES[setting] ?? (example || "test"),
    };
  });
}

/** The variable of a setting: `AUTH_LOOPS_TRANSACTIONAL_ID`. */
function variableOf({ id }: Provider, setting: string): string {
  const words = setting.replace(/(?<=[a-z])(?=[A-Z])/g, "_");
  return `AUTH_${id}_${words}`.toUpperCase().replaceAll("-", "_");
}

/** Its entry in `providers`, with what Auth.js does not find in the environment itself. */
export function entryOf(provider: Provider): string {
  const { factory, type, options = [] } = provider;
  if (type === "credentials") return PASSWORD;
  if (usesSmtp(provider)) return `${factory}(mailSettings()),`;
  if (type === "webauthn") {
    return `// Users who are signed in add a passkey, and no others
${factory}({ getUserInfo: () => Promise.resolve(null) }),`;
  }
  const members = [
    type === "email" && `from: setting("EMAIL_FROM"),`,
    ...options.map((option) => `${option}: setting("${variableOf(provider, option)}"),`),
  ].filter((member) => member !== false);
  if (members.length === 0) return `${factory},`;
  if (type === "email") return [`${factory}({`, ...members.map((member) => `  ${member}`), "}),"].join("\n");
  const lines = ["...fromEnvironment,", ...members].map((member) => `    ${member}`);
  return ["(fromEnvironment) =>", `  ${factory}({`, ...lines, "  }),"].join("\n");
}

const PASSWORD = `Credentials({
  credentials: {
    email: { type: "email" },
    password: { type: "password" },
  },
  authorize: ({ email, password }) =>
    checkPassword(database, String(email), String(password)),
}),`;
