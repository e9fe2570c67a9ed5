/** A provider of Auth.js, as far as a new project has to know it. */
import { variableOf } from "../../provider/variables.ts";

/** What is known of a provider. */
export interface Provider {
  /** The subpath that it is imported from, `fastify-authjs/providers/<module>`. */
  readonly module: string;
  /** Its id, which is in its callback URL and in the names of its variables. */
  readonly id: string;
  /** As it is shown. */
  readonly name: string;
  readonly type: "oauth" | "oidc" | "email" | "credentials" | "webauthn";
  /** The name to import its factory by. */
  readonly factory: string;
  /** Whether an issuer must be configured. */
  readonly issuer?: true;
  /** Further options that must be configured. */
  readonly options?: readonly string[];
  /** Whether Auth.js advises against it. */
  readonly deprecated?: true;
}

/** Whether its users come from another service, which has to know the callback URL. */
export function isOAuth({ type }: Provider): boolean {
  return type === "oauth" || type === "oidc";
}

/** Whether it needs tables: for links that were mailed, or for passkeys. */
export function needsDatabase({ type }: Provider): boolean {
  return type === "email" || type === "webauthn";
}

/** Whether it sends mail through an SMTP server, with `nodemailer`. */
export function usesSmtp({ module }: Provider): boolean {
  return module === "nodemailer" || module === "email";
}

/** The path of its callback URL. */
export function callbackPath({ id }: Provider): string {
  return `/auth/callback/${id}`;
}

/** The variables that Auth.js itself reads for it. */
export function ownVariables(provider: Provider): string[] {
  const { id, issuer } = provider;
  if (isOAuth(provider)) {
    const settings = issuer ? ["ID", "SECRET", "ISSUER"] as const : ["ID", "SECRET"] as const;
    return settings.map((setting) => variableOf(id, setting));
  }
  return provider.type === "email" && !usesSmtp(provider) ? [variableOf(id, "KEY")] : [];
}

/** The variable that the new project keeps a further option in: `AUTH_LOOPS_TRANSACTIONAL_ID`. */
export function optionVariable({ id }: Provider, option: string): string {
  const words = option.replace(/(?<=[a-z])(?=[A-Z])/g, "_");
  return `AUTH_${id}_${words}`.toUpperCase().replaceAll("-", "_");
}
