/** Checks the types of a provider's settings, which core would come across with each sign-in. */
import type { Provider } from "@auth/core/providers";
import { invalidProvider } from "../errors.ts";

type Kind = keyof typeof WANTED;

const WANTED = {
  boolean: "true or false",
  endpoint: "an address, or an object such as `{ url, params }`",
  function: "a function",
  object: "an object",
  text: "a string",
} as const;

const KINDS: Readonly<Record<string, Kind>> = {
  account: "function",
  // A text such as "false" would link accounts.
  allowDangerousEmailAccountLinking: "boolean",
  authorization: "endpoint",
  client: "object",
  clientId: "text",
  clientSecret: "text",
  credentials: "object",
  generateVerificationToken: "function",
  idToken: "boolean",
  issuer: "text",
  name: "text",
  normalizeIdentifier: "function",
  profile: "function",
  redirectProxyUrl: "text",
  sendVerificationRequest: "function",
  style: "object",
  token: "endpoint",
  userinfo: "endpoint",
  wellKnown: "text",
};

/**
 * Checks the settings of a provider, those among its `options` included. As core takes them, null is the same
 * as unset.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID` if one has another type.
 */
export function requireSettingTypes(provider: Provider): void {
  const { options, ...own } = provider as unknown as Record<string, unknown> & { options?: object };
  const settings: Record<string, unknown> = { ...own, ...options };
  for (const [name, kind] of Object.entries(KINDS)) {
    const value = settings[name];
    if (value === undefined || value === null || isA(kind, value)) continue;
    throw invalidProvider(
      `The \`${name}\` of the provider "${settings.id}" is ${describe(value)}: write ${
        WANTED[kind]
      }, or leave it out.`,
    );
  }
}

function isA(kind: Kind, value: unknown): boolean {
  const isObject = typeof value === "object" && !Array.isArray(value);
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "endpoint":
      return typeof value === "string" || isObject;
    case "object":
      return isObject;
    case "boolean":
      return typeof value === "boolean";
    case "function":
      return typeof value === "function";
  }
}

/** What a value is, without a text that may be secret. */
function describe(value: unknown): string {
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
