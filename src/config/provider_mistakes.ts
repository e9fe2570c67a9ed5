/** Settings of a provider that cannot work, or are not what was meant. */
import { isLoopback } from "../http/origin.ts";
import { MAIL_SERVICES } from "../provider/mail_services.ts";
import { type Settings, variableOf } from "../provider/settings.ts";
import { isDiscovered, type ProviderSummary, SERVER_URLS } from "../provider/summary.ts";
import { PUBLIC_KEY_ALGORITHMS, SECRET_ALGORITHMS } from "../provider/openid_client.ts";
import { type Facts, isWrapped, type Messages } from "./mistakes.ts";
import type { NoticeCode } from "./notices.ts";
import { isText } from "./rules.ts";

type OfProvider = (provider: ProviderSummary, settings: Settings, facts: Facts) => ReturnType<Messages>;

/** A mistake of a provider, looked for in each. */
function each(messages: OfProvider): Messages {
  return (facts) =>
    facts.providers.flatMap((provider, index) =>
      messages(provider, facts.core.providers[index] as unknown as Settings, facts) || []
    );
}

const TYPES: readonly string[] = ["oidc", "oauth", "email", "credentials", "webauthn"];
const CHECKS: readonly string[] = ["pkce", "state", "nonce", "none"];

/** The limit of Fastify's router for a parameter. */
const LONGEST_ID = 100;

/**
 * Names that no path segment can be, since clients remove them (RFC 3986 section 5.2.4), and that no provider can have:
 * to core "undefined" means none, and "__proto__" cannot be a key of its list.
 */
const RESERVED_IDS: readonly string[] = [".", "..", "undefined", "__proto__"];

const PROBLEMS: readonly OfProvider[] = [
  ({ id }, _settings, { providers }) =>
    providers.filter((other) => other.id === id).length > 1 &&
    `Two providers have the id "${id}": give one of them another, as in \`{ id: "${id}-2" }\`.`,
  ({ id }) =>
    (!isText(id) || !/^[\w.~-]+$/.test(id) || id.length > LONGEST_ID || RESERVED_IDS.includes(id)) &&
    `The provider id ${JSON.stringify(id)} cannot be part of a URL: use letters, digits, "-", "_", at most ` +
      `${LONGEST_ID} of them.`,
  ({ id, type }) => {
    const has = type === "" ? "no `type`" : `the \`type\` ${JSON.stringify(type)}, which is unknown`;
    return !TYPES.includes(type) && `The provider "${id}" has ${has}: write one of ${TYPES.join(", ")}.`;
  },
  ({ id, isOAuth, checks }) => {
    const unknown = isOAuth ? checks.find((check) => !CHECKS.includes(check)) : undefined;
    const [check, ...known] = [unknown, ...CHECKS].map((each) => JSON.stringify(each));
    return unknown !== undefined &&
      `The provider "${id}" has the check ${check}, which is unknown, so core would leave it out: write ` +
        `${known.join(", ")}.`;
  },
  ({ id, factoryId, server }) => {
    const name = SERVER_URLS.find((name) => {
      const url = server[name];
      // One with a setting that is undefined gets a warning.
      return url !== undefined && (name !== "issuer" || isDiscovered(server)) && !hasUndefined(url) && !isAddress(url);
    });
    if (name === undefined) return undefined;
    const url = server[name]!;
    const variable = name === "issuer" ? ` (or ${variableOf(factoryId, "ISSUER")})` : "";
    const example = /^[a-z0-9.-]+(?::\d+)?(?:\/[\w./~-]*)?$/i.test(url) ? url : "idp.example";
    return `The \`${name}\` of the provider "${id}" is ${JSON.stringify(url)}, which is no address: set ` +
      `\`${name}\`${variable} to one with its scheme, such as "https://${example}".`;
  },
  ({ id, server }, _settings, { production, insecure }) => {
    const plain = Object.values(server).find((url) => url?.toLowerCase().startsWith("http:"));
    return production && plain !== undefined && !insecure.includes(id) &&
      `The provider "${id}" is reached without TLS at ${plain}, which ${needsTls(id)}`;
  },
  (provider, settings, { production }) => production && provider.isOAuth && missingCredentials(provider, settings),
  // What can be known of the key of ID tokens before a sign-in.
  ({ id, factoryId, type }, { issuer, jwks_endpoint, clientSecret, client }, facts) => {
    if (type !== "oidc" || facts.config.verifyIdTokens !== true) return undefined;
    const { id_token_signed_response_alg: algorithm } = Object(client) as Settings;
    if (SECRET_ALGORITHMS.includes(algorithm as string)) {
      return !clientSecret &&
        `\`verifyIdTokens\` needs the \`clientSecret\` of "${id}", whose ID tokens are signed with it (${algorithm}).`;
    }
    if (algorithm !== undefined && !PUBLIC_KEY_ALGORITHMS.includes(algorithm as string)) {
      const given = JSON.stringify(algorithm);
      return `\`verifyIdTokens\` cannot verify ID tokens of "${id}" that are signed with ${given}: set ` +
        "`client.id_token_signed_response_alg` to the algorithm that is registered there, or leave it out.";
    }
    const name = isSet(jwks_endpoint) ? "jwks_endpoint" : "issuer";
    const address = jwks_endpoint ?? issuer;
    if (!isAddress(address)) {
      const state = isSet(address) ? "no address" : "not set";
      const issuerSetting = `\`issuer\` (or ${variableOf(factoryId, "ISSUER")})`;
      return `\`verifyIdTokens\` needs the keys of the provider "${id}", and its \`${name}\` is ${state}: set ` +
        `${issuerSetting}, whose discovery document says where they are, or \`jwks_endpoint\`.`;
    }
    const isPlain = name === "jwks_endpoint" && !/^https:/i.test(String(address));
    return isPlain && facts.production && !facts.insecure.includes(id) &&
      `The \`jwks_endpoint\` of the provider "${id}" is reached without TLS, which ${needsTls(id)}`;
  },
];

export const PROVIDER_PROBLEMS = [["FST_AUTHJS_PROVIDER_INVALID", ...PROBLEMS.map(each)]] as const;

/** What names the application at a provider: the setting, what it is called, and its variable. */
const CREDENTIALS = [
  ["clientId", "client id", "ID"],
  ["clientSecret", "client secret", "SECRET"],
  ["apiKey", "API key", "KEY"],
] as const;

/** The methods that send the secret; core's default is the first (OpenID Connect Core 1.0, section 9). */
const SECRET_METHODS = ["client_secret_basic", "client_secret_post", "client_secret_jwt"];

/** Names of other libraries, and of earlier versions of Auth.js, for settings of a provider. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  authorizationparams: "write `authorization: { params: { … } }`",
  authorizationurl: "write `authorization`",
  callbackurl: "leave it out: the callback URL follows from `AUTH_URL` and the `prefix` of the registration",
  clientid: "write `clientId`",
  clientsecret: "write `clientSecret`",
  redirecturi: "leave it out: the callback URL follows from `AUTH_URL` and the `prefix` of the registration",
  scope: 'write `authorization: { params: { scope: "…" } }`',
  scopes: 'write `authorization: { params: { scope: "…" } }`',
  tokenurl: "write `token`",
  userinfourl: "write `userinfo`",
};

const WARNINGS: readonly (readonly [NoticeCode, ...OfProvider[]])[] = [
  [
    "FST_AUTHJS_WARN_PROVIDER",
    ({ id, isOAuth }, settings) => {
      const { params } = Object(settings.authorization) as { params?: Settings };
      // Some factories take `scope` and put it where it belongs.
      const isRight = (name: string) =>
        ["clientId", "clientSecret"].includes(name) || (name === "scope" && params?.scope === settings.scope);
      return Object.keys(isOAuth ? settings : {}).flatMap((name) => {
        const instead = OTHER_NAMES[name.toLowerCase().replaceAll("_", "")];
        return instead === undefined || settings[name] === undefined || isRight(name)
          ? []
          : [`The provider "${id}" has \`${name}\`, which is not read: ${instead}.`];
      });
    },
    ({ id, factoryId, server }) => {
      const incomplete = Object.values(server).find((url) => url !== undefined && hasUndefined(url));
      return incomplete !== undefined &&
        `The provider "${id}" has an address with "undefined" in it, ${incomplete}: an option that it is made of is ` +
          `not set. Mostly it is \`issuer\` (or ${variableOf(factoryId, "ISSUER")}).`;
    },
    ({ id, isOAuth, checks }) =>
      isOAuth && (checks.length === 0 || checks.includes("none")) &&
      `The provider "${id}" has \`checks: ["none"]\`, so its callback accepts a sign-in that another browser ` +
        'started (login CSRF). Use "pkce" or "state".',
    ({ id, formPost }, _settings, { origin }) =>
      formPost && origin !== undefined && !origin.secure && !isLoopback(origin) &&
      `The provider "${id}" answers with \`response_mode=form_post\`, which needs SameSite=None cookies, and ` +
        `browsers refuse those over http: its sign-ins at ${origin.href} will fail. Serve the application over https.`,
  ],
  [
    "FST_AUTHJS_WARN_CREDENTIALS",
    // The boot goes on: an application with ten providers is developed with the credentials of one.
    (provider, settings, { production }) => !(production && provider.isOAuth) && missingCredentials(provider, settings),
    ({ id, factoryId }, settings) =>
      CREDENTIALS.filter(([name]) => isWrapped(String(settings[name] ?? ""))).map(([name, what, suffix]) =>
        `The ${what} of the provider "${id}" has quotation marks or white space around it, which Docker's ` +
        `\`--env-file\` keeps, for one. Set ${variableOf(factoryId, suffix)} (or \`${name}\`) without them.`
      ),
  ],
  [
    "FST_AUTHJS_WARN_TLS",
    ({ id, server }, _settings, { production, insecure }) =>
      production && insecure.includes(id) &&
      `The provider "${id}" may be reached without TLS (${Object.values(server).find(Boolean) ?? "no address"}), by ` +
        "`insecureProviders`: an attacker who can change traffic on the way to it can sign in as any of its users.",
  ],
];

export const PROVIDER_WARNINGS = WARNINGS.map(([code, ...mistakes]) => [code, ...mistakes.map(each)] as const);

/** What an application needs to be known at a provider, and does not have. In production that stops the boot. */
function missingCredentials({ id, factoryId, type, isOAuth }: ProviderSummary, settings: Settings) {
  const { token_endpoint_auth_method: method = SECRET_METHODS[0] } = Object(settings.client) as Settings;
  const needed = {
    clientId: isOAuth,
    clientSecret: isOAuth && SECRET_METHODS.includes(String(method)),
    apiKey: type === "email" && Object.hasOwn(MAIL_SERVICES, factoryId),
  };
  // `String(process.env.NAME)` and templates make it a text; a file of variables has `NAME=`.
  const isMissing = (value: unknown) => !isSet(value) || value === "undefined" || value === "";
  const missing = CREDENTIALS.filter(([name]) => needed[name] && isMissing(settings[name]));
  const how = missing.map(([name, , suffix]) => `${variableOf(factoryId, suffix)} (or \`${name}\`)`);
  const isPublic = missing.length === 1 && missing[0]![0] === "clientSecret";
  return missing.length > 0 &&
    `The provider "${id}" has no ${missing.map(([, what]) => what).join(" and no ")}, so every sign-in with it ` +
      `fails: set ${how.join(" and ")}, and load the environment before FastifyAuth() is registered.` +
      (isPublic ? ' A client that has no secret says so: `client: { token_endpoint_auth_method: "none" }`.' : "");
}

/** As core takes it, null is the same as unset. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isAddress(value: unknown): boolean {
  return isText(value) && /^https?:\/\//i.test(value) && URL.canParse(value);
}

/** Whether a factory made an address of an option that is not set. */
function hasUndefined(url: string): boolean {
  return /(?:^|[/.@])undefined(?:$|[/.:?])/.test(url);
}

function needsTls(id: string): string {
  return `NODE_ENV=production does not allow: use https, or on a private network \`insecureProviders: ["${id}"]\`.`;
}
