/** The auth routes as operations of an OpenAPI document. */
import type { CredentialsConfig } from "@auth/core/providers/credentials";
import type { FastifySchema } from "fastify";
import type { AuthInUse } from "../../core/context.ts";
import type { ResolvedConfig } from "../../config/resolve.ts";
import type { AuthRoute } from "../../routes/table.ts";
import { isOpenIdProvider, type ProviderSummary } from "../../provider/summary.ts";

/** A JSON Schema, in the dialect that `@fastify/swagger` takes for documents of every version. */
export interface JsonSchema {
  type?: string | readonly string[];
  description?: string;
  format?: string;
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, JsonSchema>>;
  items?: JsonSchema;
  required?: readonly string[];
  additionalProperties?: boolean | JsonSchema;
  headers?: Readonly<Record<string, JsonSchema>>;
}

type Fields = Readonly<Record<string, JsonSchema>>;

/** An operation, as `@fastify/swagger` reads it from the `schema` of a route, and what it has by the configuration. */
interface Description extends FastifySchema {
  readonly summary: string;
  readonly consumes?: readonly string[];
  readonly produces?: readonly string[];
  readonly of?: (provider: ProviderSummary) => boolean;
  /** The fields of its form besides the CSRF token. */
  readonly fields?: (config: ResolvedConfig) => Fields;
}

/** The operation of an auth route; `undefined` for no configured provider, or a redirect to another route. */
export function authOperation(
  { action, provider, limited }: AuthRoute,
  method: string,
  { config, hooks }: Pick<AuthInUse, "config" | "hooks">,
): (FastifySchema & { readonly tags: readonly string[] }) | undefined {
  const description = OPERATIONS[`${method} ${action}${provider ? "/:provider" : ""}`];
  if (description === undefined) return undefined;
  const { of, fields, ...operation } = description;
  const ids = of && [...config.providers.values()].filter(of).map(({ id }) => id);
  if (ids?.length === 0) return undefined;
  const isLimited = limited !== undefined && hooks.some(({ limits }) => limits);
  return {
    tags: ["Auth"],
    ...operation,
    ...(ids && { params: fieldsOf({ provider: { type: "string", enum: ids } }, "provider") }),
    ...(fields && { body: fieldsOf({ csrfToken: text("That of `csrf`."), ...fields(config) }, "csrfToken") }),
    response: { ...operation.response as object, ...(isLimited && { 429: TOO_MANY }) },
  };
}

const CALLBACK_URL = text("Where to go afterwards: a path, or a URL that the `redirect` callback allows.");
const ERROR = text("The error to show.");
const FORM = "application/x-www-form-urlencoded";

const REDIRECT: JsonSchema = {
  ...nothing("Leads to the next page, or to one that shows the error."),
  headers: { Location: text() },
};

const FAILED = { ...texts("error", "code", "message"), statusCode: { type: "integer" } };
const FAILURE = answer("The request failed.", FAILED, "error");
const TOO_MANY: JsonSchema = {
  ...answer("There were too many attempts.", FAILED, "error"),
  headers: { "Retry-After": { type: "integer", description: "Seconds until the next attempt." } },
};
const REFUSED = nothing("The request was refused, for a client that does not ask for the status of an error.");

const TEXT_OR_NULL: JsonSchema = { type: ["string", "null"] };

const SESSION: JsonSchema = {
  type: ["object", "null"],
  description: "The session, or null.",
  required: ["expires"],
  properties: {
    user: { ...fieldsOf({ name: TEXT_OR_NULL, email: TEXT_OR_NULL, image: TEXT_OR_NULL }), additionalProperties: true },
    expires: { type: "string", format: "date-time" },
  },
  additionalProperties: true,
};

const JWK: JsonSchema = { type: "object", additionalProperties: true };
const OAUTH_ERROR = texts("error", "error_description");
const CEREMONY: JsonSchema = { type: "string", enum: ["authenticate", "register"] };

const page = (summary: string, query?: Fields): Description => ({
  summary,
  produces: ["text/html"],
  ...(query && { querystring: fieldsOf(query) }),
  response: { 200: text("The page.") },
});

const POSTED = { consumes: ["application/json", FORM] };

/** A POST that is answered with a redirect, or with its address as JSON. */
const LEADS_ON = {
  ...POSTED,
  headers: fieldsOf({
    "x-auth-return-redirect": text('"1" for JSON in place of a redirect, "prefer-status" for statuses as well.'),
  }),
  response: {
    200: answer("For a client that asked for JSON: the next page.", texts("url")),
    302: REDIRECT,
    ...failures(401, 403, 503),
  },
};

const ofType = (...types: string[]) => ({ type }: ProviderSummary) => types.includes(type);

/** By method and path. A GET of `signin/:provider` only redirects to the sign-in page. */
const OPERATIONS: Readonly<Record<string, Description>> = {
  "GET signin": page("The sign-in page", { callbackUrl: CALLBACK_URL, error: ERROR }),
  "POST signin/:provider": {
    ...LEADS_ON,
    summary: "Starts a sign-in with a provider or by e-mail",
    of: ofType("oauth", "oidc", "email"),
    fields: (config) => ({
      callbackUrl: CALLBACK_URL,
      ...ofEmail(config, { email: text("The address, for a link by e-mail.") }),
    }),
  },
  "GET callback/:provider": {
    summary: "The page that a provider or a link in a mail leads to",
    of: ofType("oauth", "oidc", "email"),
    response: { 302: REDIRECT, ...failures(503) },
  },
  "POST callback/:provider": {
    ...LEADS_ON,
    summary: "Signs in with a password, a passkey or the code of a mail",
    of: ofType("credentials", "webauthn", "email"),
    fields: (config) => ({
      callbackUrl: CALLBACK_URL,
      ...credentialFields(config),
      ...ofEmail(config, { code: text("The code of the mail that this browser asked for last.") }),
    }),
  },
  "GET signout": page("The sign-out page", { callbackUrl: CALLBACK_URL }),
  "POST signout": { ...LEADS_ON, summary: "Signs out", fields: () => ({ callbackUrl: CALLBACK_URL }) },
  "GET signed-out": {
    summary: "Where an OpenID Provider leads back to after a sign-out there",
    querystring: fieldsOf({ state: text("That of the sign-out.") }),
    response: { 302: REDIRECT },
  },
  "POST backchannel-logout/:provider": {
    summary: "Ends sessions, for an OpenID Provider",
    of: isOpenIdProvider,
    body: fieldsOf({ logout_token: text("The logout token, a signed JWT.") }, "logout_token"),
    consumes: [FORM],
    response: {
      200: nothing("The sessions have ended."),
      400: answer("The token was refused, or the sessions could not be ended.", OAUTH_ERROR, "error"),
    },
  },
  "GET session": { summary: "The session, or null", response: { 200: SESSION, ...failures(503) } },
  "POST session": {
    ...POSTED,
    summary: "Updates the session",
    fields: () => ({ data: { description: "What the `jwt` callback gets as `session`." } }),
    response: { 200: SESSION, 400: REFUSED, ...failures(403, 413, 503) },
  },
  "POST token": {
    ...POSTED,
    summary: "Issues a bearer token to a user who is signed in with a cookie",
    fields: () => ({}),
    response: {
      200: answer("The token.", {
        ...texts("access_token"),
        token_type: { type: "string", enum: ["Bearer"] },
        expires_in: { type: "integer", description: "Seconds." },
      }),
      400: REFUSED,
      ...failures(401, 403, 503),
    },
  },
  "GET jwks": {
    summary: "The public keys of the tokens that this application issues",
    response: { 200: answer("A JWK Set (RFC 7517).", { keys: { type: "array", items: JWK } }), ...failures(503) },
  },
  "GET csrf": {
    summary: "A CSRF token, and its cookie",
    response: { 200: answer("The token for the body of a POST.", texts("csrfToken")) },
  },
  "GET providers": {
    summary: "The configured providers",
    response: {
      200: {
        type: "object",
        description: "The providers by id.",
        additionalProperties: answer("A provider.", texts("id", "name", "type", "signinUrl", "callbackUrl")),
      },
    },
  },
  "GET error": page("The error page", { error: ERROR }),
  "GET verify-request": page("The page that says that a link was mailed"),
  "GET webauthn-options/:provider": {
    summary: "The options of a WebAuthn ceremony",
    of: ofType("webauthn"),
    querystring: fieldsOf({ action: CEREMONY, email: text() }),
    response: {
      200: answer("The options, and what they are for.", {
        action: CEREMONY,
        options: { type: "object", additionalProperties: true },
      }),
      ...failures(400, 503),
    },
  },
};

function ofEmail({ providers }: ResolvedConfig, fields: Fields): Fields {
  return [...providers.values()].some(ofType("email")) ? fields : {};
}

function credentialFields({ core }: ResolvedConfig): Fields {
  const inputs = (core.providers as CredentialsConfig[])
    .flatMap(({ type, credentials }) => type === "credentials" ? Object.entries(credentials ?? {}) : []);
  // As on the sign-in page, `password` is one also without a type.
  return Object.fromEntries(inputs.map(([name, { type = name, label }]) => [name, {
    ...text(label),
    ...(type === "password" && { format: "password" }),
  }]));
}

function text(description?: string): JsonSchema {
  return { type: "string", ...(description && { description }) };
}

function texts(...names: string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, text()]));
}

function fieldsOf(properties: Fields, ...required: string[]): JsonSchema {
  return { type: "object", ...(required.length > 0 && { required }), properties };
}

function failures(...statuses: number[]): Readonly<Record<number, JsonSchema>> {
  return Object.fromEntries(statuses.map((status) => [status, FAILURE]));
}

function nothing(description: string): JsonSchema {
  return { type: "null", description };
}

/** What an answer has: all of it, unless members are named. */
function answer(description: string, properties: Fields, ...required: string[]): JsonSchema {
  const names = required.length > 0 ? required : Object.keys(properties);
  return { ...fieldsOf(properties, ...names), description };
}
