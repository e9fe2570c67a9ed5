/** Core's checks of a configuration, at boot instead of with the first request. */
import { Auth, type AuthConfig, raw, skipCSRFCheck } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { MISSING_METHODS } from "../adapter/bind.ts";
import type { ResolvedConfig } from "./resolve.ts";
import { FastifyAuthError } from "../errors.ts";
import { factoryIdOf, variableOf } from "../provider/settings.ts";

/** A request as far as core reads it. With the first `Request` Node would load all of its `fetch`. */
const REQUEST = {
  method: "GET",
  url: "https://fastify-authjs.invalid/auth/providers",
  headers: new Map<string, string>(),
} as unknown as Request;

/** Why core refuses the configuration, if it does. */
export async function coreProblem(resolved: ResolvedConfig): Promise<FastifyAuthError | undefined> {
  let error: Error | undefined;
  const { core } = resolved;
  const summaries = [...resolved.providers.values()];
  const needsWebAuthn = summaries.some(({ type }) => type === "webauthn");
  const config: AuthConfig = {
    ...core,
    // By the ids of their factories, which the variables of the hint below are named by.
    providers: core.providers.map((provider) => {
      const { type, formFields } = provider as { type?: string; formFields?: object };
      // Core refuses conditional UI without a field for it; our sign-in page has it in those of other providers.
      const isButton = type === "webauthn" && Object.keys(formFields ?? {}).length === 0;
      return { ...provider, id: factoryIdOf(provider), ...(isButton && { enableConditionalUI: false }) } as Provider;
    }),
    adapter: MISSING_METHODS,
    session: { strategy: "jwt" },
    experimental: { ...core.experimental, enableWebAuthn: !needsWebAuthn || !!core.experimental?.enableWebAuthn },
    basePath: "/auth",
    // Without a token and a `Response`, for which Node would load WebCrypto and `fetch`.
    skipCSRFCheck,
    raw,
    logger: { error: (first) => error ??= first, warn: () => {}, debug: () => {} },
  };
  await Auth(REQUEST, config).catch(() => {});
  if (error === undefined) return undefined;
  // Core names neither the option of the factory nor the variable that an OpenID Provider lacks.
  const id = /Provider "([^"]+)" is missing both `issuer` and/.exec(error.message)?.[1];
  const isOidc = id !== undefined && summaries.some(({ factoryId, type }) => factoryId === id && type === "oidc");
  const hint = isOidc ? `. Set ${variableOf(id, "ISSUER")} (or \`issuer\`) to the address of the provider.` : "";
  const message = `Auth.js refuses the configuration: ${error.message}${hint}`;
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message, { cause: error });
}
