/** The `claims` parameter of an authorization request (OpenID Connect Core 1.0 section 5.5). */
import type { Provider } from "@auth/core/providers";
import { FastifyAuthError } from "../errors.ts";
import { parseJsonObject } from "../utils/json.ts";

interface Endpoint {
  readonly params?: { readonly claims?: unknown };
}

interface Configured {
  readonly id: string;
  readonly authorization?: unknown;
  readonly options?: Configured;
}

/**
 * The provider, with `authorization.params.claims` as an object: core writes it as JSON, and would write a
 * JSON text as JSON once more.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a text that is no JSON object.
 */
export function parseClaimsParameter(provider: Provider): Provider {
  const { id, ...own } = provider as unknown as Configured;
  const parsed = parseIn(own as Configured, id);
  const options = own.options && parseIn(own.options, id);
  return parsed === own && options === own.options
    ? provider
    : { ...parsed, id, ...(options && { options }) } as unknown as Provider;
}

function parseIn(settings: Configured, id: string): Configured {
  const { params } = (settings.authorization ?? {}) as Endpoint;
  if (typeof params?.claims !== "string") return settings;
  const claims = parseJsonObject(params.claims);
  if (claims === undefined) {
    throw new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      `\`authorization.params.claims\` of the provider "${id}" is no JSON object: write it as an object.`,
    );
  }
  return {
    ...settings,
    authorization: { ...settings.authorization as object, params: { ...params, claims } },
  };
}
