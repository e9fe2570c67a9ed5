/** Core's checks of a configuration, at boot instead of with the first request. */
import { Auth, type AuthConfig, raw, skipCSRFCheck } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import type { LoggerInstance } from "@auth/core/types";
import { MISSING_METHODS } from "../adapter/bind.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import { FastifyAuthError } from "../errors.ts";
import { variableOf } from "../provider/variables.ts";

/**
 * A request, as far as core reads it. Not a `Request`: with the first one Node loads all of its `fetch`. The
 * host is never resolved, since core sends no request for its checks.
 */
const REQUEST = {
  method: "GET",
  url: "https://fastify-authjs.invalid/auth/providers",
  headers: new Map<string, string>(),
} as unknown as Request;

/**
 * Lets core check the configuration.
 *
 * @returns An error with core's message, or `undefined` where core accepts it.
 */
export async function coreProblem(resolved: ResolvedConfig): Promise<FastifyAuthError | undefined> {
  const errors: Error[] = [];
  const logger: LoggerInstance = { error: (error) => errors.push(error), warn: () => {}, debug: () => {} };
  const { adapter: _checkedByUs, experimental, providers, ...core } = resolved.core;
  const needsWebAuthn = [...resolved.providers.values()].some(({ type }) => type === "webauthn");
  const config: AuthConfig = {
    ...core,
    providers: providers.map((provider) => withFieldsForConditionalUi(provider as Provider)),
    adapter: MISSING_METHODS,
    session: { strategy: "jwt" },
    experimental: { ...experimental, enableWebAuthn: !needsWebAuthn || !!experimental?.enableWebAuthn },
    basePath: "/auth",
    // Which makes no token: Node loads WebCrypto for the first.
    skipCSRFCheck,
    // Which makes no `Response`: Node loads all of its `fetch` for the first.
    raw,
    logger,
  };

  await Auth(REQUEST, config).catch(() => {});
  const [error] = errors;
  if (error === undefined) return undefined;
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `Auth.js refuses the configuration: ${error.message}${issuerHint(error.message, resolved)}`,
    { cause: error },
  );
}

/** Core names neither the option of the factory nor the variable that an OpenID Provider lacks. */
function issuerHint(message: string, { providers }: ResolvedConfig): string {
  const id = /Provider "([^"]+)" is missing both `issuer` and/.exec(message)?.[1];
  // Core means the id of the factory.
  const provider = [...providers.values()].find(({ factoryId }) => factoryId === id);
  if (provider?.type !== "oidc") return "";
  return `. Set ${variableOf(provider.factoryId, "ISSUER")} (or \`issuer\`) to the address of the provider.`;
}

/**
 * Core refuses conditional UI without a field for it. Our sign-in page has it in the fields of other
 * providers, if a passkey button has none of its own.
 */
function withFieldsForConditionalUi(provider: Provider): Provider {
  const { type, formFields = {} } = provider as { type?: string; formFields?: object };
  const buttonAlone = type === "webauthn" && Object.keys(formFields).length === 0;
  return buttonAlone ? { ...provider, enableConditionalUI: false } as Provider : provider;
}
