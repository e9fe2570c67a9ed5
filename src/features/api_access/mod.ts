/** Access tokens on guarded routes (RFC 6750, RFC 9068, RFC 7662, RFC 9449), and tokens for other services. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isFilled, isText } from "../../config/rules.ts";
import type { AuthInUse } from "../../core/context.ts";
import { FastifyAuthError } from "../../errors.ts";
import { AUTH_ROUTE } from "../../http/auth_route.ts";
import { type PublicOrigin, requireOrigin } from "../../http/origin.ts";
import { mountedIn, pathsIn, rootOf } from "../../instance/mount.ts";
import { PUBLIC_KEY_ALGORITHMS } from "../../provider/openid_client.ts";
import { isObject } from "../../utils/decode.ts";
import { later } from "../../utils/later.ts";
import type { Feature } from "../feature.ts";
import { isScope } from "./guard_options.ts";
import type { ApiAccessOptions, ApiIssuer } from "./options.ts";

/** What an option of an issuer may be, and what is said of anything else. */
const ISSUER: Record<keyof ApiIssuer, readonly [isValid: (value: unknown) => boolean, wanted: string]> = {
  issuer: [isUrl, 'be a URL, such as "https://login.example"'],
  audience: [
    isFilled,
    'say what tokens are for, such as "https://api.example": without it a token for any other service would be ' +
    "accepted",
  ],
  jwksUri: [(value) => value === undefined || isUrl(value), "be a URL"],
  rfc9068: [(value = true) => typeof value === "boolean", "be true or false"],
  introspection: [
    (value) => {
      const { clientId, clientSecret, ...others } = Object(value);
      return value === undefined || ([clientId, clientSecret].every(isFilled) && Object.keys(others).length === 0);
    },
    "be `{ clientId, clientSecret }`",
  ],
};

export const apiAccess: Feature = {
  rules: {
    apiAccess: (value) =>
      isObject(value) && Object.keys(value).every((name) => name === "issuers" || name === "scopes")
        ? undefined
        : "`apiAccess` must be an object such as `{ issuers: [{ issuer, audience }] }`, with `issuers` and `scopes`.",
  },
  problems: [["FST_AUTHJS_CONFIG_INVALID", ({ config: { apiAccess } }) => problemOf(apiAccess!)]],
  routes: [{ action: "jwks", methods: ["GET"], provider: false }],
  configure: (setup) => ({
    onAccess: later(async () => {
      const tokens = new (await import("./authenticate.ts")).AccessTokens(setup);
      return (guarded, reply) => tokens.admit(guarded, reply);
    }),
    // deno-lint-ignore require-await -- an error is a rejection
    onMount: async (scope, auth) => addMetadata(scope, auth),
    handlers: { jwks: later(async () => (await import("./issue.ts")).jwksAnswer) },
  }),
};

function problemOf({ issuers = [], scopes = [] }: ApiAccessOptions): string | undefined {
  if (!Array.isArray(issuers)) return "`apiAccess.issuers` must be a list.";
  if (!Array.isArray(scopes) || !scopes.every(isScope)) return "`apiAccess.scopes` must be a list of scopes.";
  const problems = issuers.map(problemOfIssuer);
  const index = problems.findIndex((problem) => problem !== undefined);
  if (index >= 0) return `\`apiAccess.issuers[${index}]\`${problems[index]}.`;
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length) {
    return "`apiAccess.issuers` has an issuer twice.";
  }
  if (issuers.filter(({ introspection }) => introspection !== undefined).length > 1) {
    return "`apiAccess.issuers` has `introspection` twice: an opaque token does not say whose it is, and must not be " +
      "shown to another server.";
  }
}

function problemOfIssuer(given: ApiIssuer): string | undefined {
  if (!isObject(given)) return " must be an object such as `{ issuer, audience }`";
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(ISSUER, name));
  if (unknown !== undefined) return ` has no option \`${unknown}\`; there are ${Object.keys(ISSUER).join(", ")}`;
  for (const [name, [isValid, wanted]] of Object.entries(ISSUER)) {
    if (!isValid(given[name as keyof ApiIssuer])) return `.${name} must ${wanted}`;
  }
}

function isUrl(value: unknown): boolean {
  return isText(value) && /^https?:/.test(value) && URL.canParse(value);
}

/** The first request of a configuration that a function chooses comes when no route can be added any more. */
const STARTED = "`apiAccess` in a configuration that a function chooses adds no metadata of the resource: serve " +
  "`/.well-known/oauth-protected-resource` in the application if clients need it.";

const RESOURCE = "/.well-known/oauth-protected-resource", SERVER = "/.well-known/oauth-authorization-server";

/**
 * Adds the metadata of the protected resource (RFC 9728) and of the issuers of our tokens (RFC 8414) to the
 * application, which any site may read: once, for all configurations that it is started with.
 */
function addMetadata(scope: FastifyInstance, auth: AuthInUse) {
  const root = rootOf(scope);
  const all = () => mountedIn(root).flatMap(({ auth }) => auth?.config.facts.config.apiAccess ? [auth] : []);
  if (!all().some((each) => each === auth)) return auth.once("api metadata", () => scope.log.info(STARTED));
  const send = (reply: FastifyReply, body: object, ...origins: (PublicOrigin | undefined)[]) =>
    reply.headers({
      "access-control-allow-origin": "*",
      // The origin may come from a header that a client made up: no cache may keep it for others.
      "cache-control": origins.includes(undefined) ? "no-store" : "public, max-age=300",
    }).send(body);
  const pathOf = ({ raw }: FastifyRequest) => new URL(raw.url ?? "", "http://localhost").pathname;
  const resource = (request: FastifyRequest, reply: FastifyReply) => {
    const path = pathOf(request).slice(RESOURCE.length);
    const described = all().map(({ config: { origin, facts } }) => {
      const { issuers = [], scopes } = facts.config.apiAccess!;
      return { issuers, scopes, origin, resource: requireOrigin(request, origin).href + path };
    });
    const own = described.filter(({ issuers, resource }) => issuers.some(({ audience }) => audience === resource));
    // A guard of any of them may name another audience.
    const named = own.length > 0 ? own : described;
    const scopes = named.flatMap(({ scopes }) => scopes ?? []);
    return send(reply, {
      resource: named[0]!.resource,
      authorization_servers: [...new Set(named.flatMap(({ issuers }) => issuers.map(({ issuer }) => issuer)))],
      ...(scopes.length > 0 && { scopes_supported: [...new Set(scopes)] }),
      bearer_methods_supported: ["header"],
      dpop_signing_alg_values_supported: PUBLIC_KEY_ALGORITHMS,
    }, ...described.map(({ origin }) => origin));
  };
  const server = (request: FastifyRequest, reply: FastifyReply) => {
    const path = pathOf(request).slice(SERVER.length);
    const issuing = all().find((each) => pathsIn(root, each)?.mount === path);
    // Not the handler of the application, whose guard has let the request through.
    if (issuing === undefined) throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such route.");
    const { origin } = issuing.config;
    const issuer = requireOrigin(request, origin).href + path;
    return send(reply, { issuer, jwks_uri: `${issuer}/jwks`, response_types_supported: [] }, origin);
  };
  // Guards at the root let them through.
  const open = { config: { [AUTH_ROUTE]: true } as object };
  for (const [url, handler] of [[RESOURCE, resource], [`${RESOURCE}/*`, resource], [`${SERVER}/*`, server]] as const) {
    if (!root.hasRoute({ method: "GET", url })) root.get(url, open, handler);
  }
}
