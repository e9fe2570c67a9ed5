/** The auth routes as operations of an OpenAPI document. */
import type { AuthInUse } from "../../core/context.ts";
import type { ResolvedConfig } from "../../config/resolve.ts";
import type { JsonSchema } from "../../http/error_schema.ts";
import type { AuthRoute } from "../../routes/table.ts";
import { isOpenIdProvider } from "../../provider/summary.ts";

/** An operation, as `@fastify/swagger` reads it from the `schema` of a route. */
export interface AuthOperation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly params?: JsonSchema;
  readonly querystring?: JsonSchema;
  readonly headers?: JsonSchema;
  readonly body?: JsonSchema;
  readonly consumes?: readonly string[];
  readonly produces?: readonly string[];
  readonly response: Readonly<Record<number, JsonSchema>>;
}

type Fields = Readonly<Record<string, JsonSchema>>;

/**
 * The operation of an auth route.
 *
 * @param method One that the route serves.
 * @returns `undefined` if it is for no configured provider, or no more than a redirect to another route.
 */
export function authOperation(
  route: AuthRoute,
  method: string,
  { config, hooks }: Pick<AuthInUse, "config" | "hooks">,
): AuthOperation | undefined {
  const { action, provider, methods } = route;
  if (!(methods as readonly string[]).includes(method)) return undefined;
  const describe = OPERATIONS[`${method} ${action}${provider ? "/:provider" : ""}`];
  const operation = describe?.(config);
  if (operation === undefined || route.limited === undefined) return operation;
  const refusals = hooks.map(({ refusals }) => refusals);
  return { ...operation, response: Object.assign({}, operation.response, ...refusals) };
}

const TAGS = ["Auth"];

/** By method and path. A GET of `signin/:provider` only redirects to the sign-in page. */
const OPERATIONS: Readonly<Record<string, (config: ResolvedConfig) => AuthOperation | undefined>> = {
  "GET signin": () => page("The sign-in page", { callbackUrl: CALLBACK_URL, error: ERROR }),
  "POST signin/:provider": (config) => {
    const email: Readonly<Record<string, JsonSchema>> = idsOf(config, "email").length > 0
      ? { email: text("The address, for a link by e-mail.") }
      : {};
    return ofProvider(
      idsOf(config, "oauth", "oidc", "email"),
      posted("Starts a sign-in with a provider or by e-mail", email),
    );
  },
  "GET callback/:provider": (config) =>
    ofProvider(idsOf(config, "oauth", "oidc", "email"), {
      tags: TAGS,
      summary: "The page that a provider or a link in a mail leads to",
      response: { 302: REDIRECT, 503: FAILURE },
    }),
  "POST callback/:provider": (config) =>
    ofProvider(
      idsOf(config, "credentials", "webauthn"),
      posted("Signs in with a password or a passkey", credentialFields(config)),
    ),
  "GET signout": () => page("The sign-out page", { callbackUrl: CALLBACK_URL }),
  "POST signout": () => posted("Signs out", {}),
  "GET signed-out": () => ({
    tags: TAGS,
    summary: "Where an OpenID Provider leads back to after a sign-out there",
    querystring: object("", { state: text("That of the sign-out.") }),
    response: { 302: REDIRECT },
  }),
  "POST backchannel-logout/:provider": (config) =>
    ofProvider([...config.providers.values()].filter(isOpenIdProvider).map(({ id }) => id), {
      tags: TAGS,
      summary: "Ends sessions, for an OpenID Provider",
      body: object("", { logout_token: text("The logout token, a signed JWT.") }, ["logout_token"]),
      consumes: ["application/x-www-form-urlencoded"],
      response: { 200: { type: "null", description: "The sessions have ended." }, 400: LOGOUT_FAILURE },
    }),
  "GET session": () => ({
    tags: TAGS,
    summary: "The session, or null",
    response: { 200: SESSION, 503: FAILURE },
  }),
  "POST session": () => ({
    ...posted("Updates the session", { data: { description: "What the `jwt` callback gets as `session`." } }),
    response: { 200: SESSION, 400: REFUSED, 403: FAILURE, 413: FAILURE, 503: FAILURE },
  }),
  "POST token": () => ({
    tags: TAGS,
    summary: "Issues a bearer token to a user who is signed in with a cookie",
    body: object("", { csrfToken: text("That of `csrf`.") }, ["csrfToken"]),
    consumes: ["application/json", "application/x-www-form-urlencoded"],
    response: { 200: BEARER_TOKEN, 400: REFUSED, 401: FAILURE, 403: FAILURE, 503: FAILURE },
  }),
  "GET csrf": () => ({
    tags: TAGS,
    summary: "A CSRF token, and its cookie",
    response: { 200: object("The token for the body of a POST.", { csrfToken: text() }, ["csrfToken"]) },
  }),
  "GET providers": () => ({
    tags: TAGS,
    summary: "The configured providers",
    response: {
      200: { type: "object", description: "The providers by id.", additionalProperties: PROVIDER },
    },
  }),
  "GET error": () => page("The error page", { error: ERROR }),
  "GET verify-request": () => page("The page that says that a link was mailed", {}),
  "GET webauthn-options/:provider": (config) =>
    ofProvider(idsOf(config, "webauthn"), {
      tags: TAGS,
      summary: "The options of a WebAuthn ceremony",
      querystring: object("", {
        action: { type: "string", enum: ["authenticate", "register"] },
        email: text(),
      }),
      response: { 200: WEBAUTHN_OPTIONS, 400: FAILURE, 503: FAILURE },
    }),
};

const CALLBACK_URL = text("Where to go afterwards: a path, or a URL that the `redirect` callback allows.");
const ERROR = text("The error to show.");

const REDIRECT: JsonSchema = {
  type: "null",
  description: "Leads to the next page, or to one that shows the error.",
  headers: { Location: { type: "string" } },
};

const FAILURE: JsonSchema = {
  type: "object",
  description: "The request failed.",
  required: ["error"],
  properties: { error: text(), code: text(), message: text(), statusCode: { type: "integer" } },
};

const REFUSED: JsonSchema = {
  type: "null",
  description: "The request was refused, for a client that does not ask for the status of an error.",
};

const LOGOUT_FAILURE: JsonSchema = {
  type: "object",
  description: "The token was refused, or the sessions could not be ended.",
  required: ["error"],
  properties: { error: text(), error_description: text() },
};

const SESSION: JsonSchema = {
  type: ["object", "null"],
  description: "The session, or null.",
  required: ["expires"],
  properties: {
    user: {
      type: "object",
      properties: { name: text(), email: text(), image: text() },
      additionalProperties: true,
    },
    expires: { type: "string", format: "date-time" },
  },
  additionalProperties: true,
};

const BEARER_TOKEN = object("The token.", {
  access_token: text(),
  token_type: { type: "string", enum: ["Bearer"] },
  expires_in: { type: "integer", description: "Seconds." },
}, ["access_token", "token_type", "expires_in"]);

const PROVIDER = object("", {
  id: text(),
  name: text(),
  type: text(),
  signinUrl: text(),
  callbackUrl: text(),
}, ["id", "name", "type", "signinUrl", "callbackUrl"]);

const WEBAUTHN_OPTIONS = object("The options, and what they are for.", {
  action: { type: "string", enum: ["authenticate", "register"] },
  options: { type: "object", additionalProperties: true },
}, ["action", "options"]);

/** An HTML page. */
function page(summary: string, query: Fields): AuthOperation {
  return {
    tags: TAGS,
    summary,
    ...(Object.keys(query).length > 0 && { querystring: object("", query) }),
    produces: ["text/html"],
    response: { 200: text("The page.") },
  };
}

/** A POST that is answered with a redirect, or with its address as JSON. */
function posted(summary: string, fields: Fields): AuthOperation {
  const properties = { csrfToken: text("That of `csrf`."), callbackUrl: CALLBACK_URL, ...fields };
  return {
    tags: TAGS,
    summary,
    headers: object("", {
      "x-auth-return-redirect": text(
        '"1" for JSON in place of a redirect, "prefer-status" for statuses as well.',
      ),
    }),
    body: { ...object("", properties, ["csrfToken"]), additionalProperties: true },
    consumes: ["application/json", "application/x-www-form-urlencoded"],
    response: {
      200: object("For a client that asked for JSON: the next page.", { url: text() }, ["url"]),
      302: REDIRECT,
      401: FAILURE,
      403: FAILURE,
      503: FAILURE,
    },
  };
}

/** An operation whose path names one of these providers; none if there is none. */
function ofProvider(ids: readonly string[], operation: AuthOperation): AuthOperation | undefined {
  if (ids.length === 0) return undefined;
  return { ...operation, params: object("", { provider: { type: "string", enum: ids } }, ["provider"]) };
}

function idsOf({ providers }: ResolvedConfig, ...types: string[]): string[] {
  return [...providers.values()].filter(({ type }) => types.includes(type)).map(({ id }) => id);
}

/** The fields of the password forms. */
function credentialFields({ core }: ResolvedConfig): Fields {
  const inputs = (core.providers as readonly CredentialsShape[])
    .filter(({ type }) => type === "credentials")
    .flatMap(({ credentials = {} }) => Object.entries(credentials));
  return Object.fromEntries(inputs.map(([name, { type, label }]) => [name, {
    ...text(label),
    ...(type === "password" && { format: "password" }),
  }]));
}

interface CredentialsShape {
  type?: string;
  credentials?: Readonly<Record<string, { type?: string; label?: string }>>;
}

function text(description?: string): JsonSchema {
  return { type: "string", ...(description && { description }) };
}

function object(description: string, properties: Fields, required: readonly string[] = []): JsonSchema {
  return {
    type: "object",
    ...(description && { description }),
    ...(required.length > 0 && { required }),
    properties,
  };
}
