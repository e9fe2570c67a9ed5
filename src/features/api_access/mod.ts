/** Access tokens on guarded routes (RFC 6750, RFC 9068, RFC 7662, RFC 9449), and tokens for other services. */
import { isObject, isText } from "../../config/rules.ts";
import type { Feature } from "../../instance/feature.ts";
import { later } from "../../utils/later.ts";
import { isScope } from "./guard_options.ts";
import type { ApiAccessOptions, ApiIssuer } from "./options.ts";

const KNOWN = ["issuer", "audience", "jwksUri", "rfc9068", "introspection"];

export const apiAccess: Feature = {
  rules: {
    apiAccess: (value) =>
      isObject(value) && Object.keys(value).every((name) => name === "issuers" || name === "scopes")
        ? undefined
        : "`apiAccess` must be an object such as `{ issuers: [{ issuer, audience }] }`, with `issuers` and `scopes`.",
  },
  problems: [
    ["FST_AUTHJS_CONFIG_INVALID", ({ config: { apiAccess } }) => problemOf(apiAccess!)],
  ],
  routes: [{ action: "jwks", methods: ["GET"], provider: false }],
  configure(setup) {
    const access = later(async () => {
      const { AccessTokens } = await import("./authenticate.ts");
      const tokens = new AccessTokens(setup);
      return () => tokens;
    });
    return {
      onAccess: async (guarded, reply) => await (await access()).admit(guarded, reply),
      onMount: async (scope, auth) => (await import("./metadata.ts")).addMetadata(scope, auth, setup.config),
      handlers: { jwks: async (context) => await (await import("./issue.ts")).jwksAnswer(context) },
    };
  },
};

function problemOf({ issuers = [], scopes = [] }: ApiAccessOptions): string | undefined {
  if (!Array.isArray(issuers)) return "`apiAccess.issuers` must be a list.";
  if (!Array.isArray(scopes) || !scopes.every(isScope)) return "`apiAccess.scopes` must be a list of scopes.";
  for (const [index, each] of issuers.entries()) {
    const problem = problemOfIssuer(each);
    if (problem !== undefined) return `\`apiAccess.issuers[${index}]\`${problem}`;
  }
  if (new Set(issuers.map(({ issuer }) => issuer)).size < issuers.length) {
    return "`apiAccess.issuers` has an issuer twice.";
  }
  if (issuers.filter(({ introspection }) => introspection !== undefined).length > 1) {
    return "`apiAccess.issuers` has `introspection` twice: an opaque token does not say whose it is, and must not be " +
      "shown to another server.";
  }
}

function problemOfIssuer(given: ApiIssuer): string | undefined {
  if (!isObject(given)) return " must be an object such as `{ issuer, audience }`.";
  const unknown = Object.keys(given).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) return ` has no option \`${unknown}\`; there are ${KNOWN.join(", ")}.`;
  const { issuer, audience, jwksUri, rfc9068 = true, introspection } = given;
  if (!isUrl(issuer)) return '.issuer must be a URL, such as "https://login.example".';
  if (!isText(audience) || audience === "") {
    return '.audience must say what tokens are for, such as "https://api.example": without it a token for any other ' +
      "service would be accepted.";
  }
  if (jwksUri !== undefined && !isUrl(jwksUri)) return ".jwksUri must be a URL.";
  if (typeof rfc9068 !== "boolean") return ".rfc9068 must be true or false.";
  if (introspection === undefined) return undefined;
  const { clientId, clientSecret } = introspection ?? {};
  return [clientId, clientSecret].every((text) => isText(text) && text !== "")
    ? undefined
    : ".introspection must be `{ clientId, clientSecret }`.";
}

function isUrl(value: unknown): boolean {
  return isText(value) && /^https?:/.test(value) && URL.canParse(value);
}
