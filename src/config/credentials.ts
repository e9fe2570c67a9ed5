/** Warns of providers that have nothing to name the application by. */
import type { Credential, ProviderSummary } from "../provider/summary.ts";
import { variableOf } from "../provider/variables.ts";
import type { Notice } from "./notices.ts";

const NAMES: Readonly<Record<Credential, readonly [name: string, variable: "ID" | "SECRET" | "KEY"]>> = {
  clientId: ["client id", "ID"],
  clientSecret: ["client secret", "SECRET"],
  apiKey: ["API key", "KEY"],
};

/**
 * A warning for each provider without a client id, secret or API key. It does not stop the boot: an
 * application with ten providers is developed with the credentials of one.
 */
export function credentialWarnings(providers: readonly ProviderSummary[]): Notice[] {
  return [...missingWarnings(providers), ...wrappedWarnings(providers)];
}

function wrappedWarnings(providers: readonly ProviderSummary[]): Notice[] {
  return providers.flatMap(({ id, factoryId, wrapped }) =>
    wrapped.map((credential): Notice => ({
      code: "FST_AUTHJS_WARN_CREDENTIALS",
      message:
        `The ${NAMES[credential][0]} of the provider "${id}" has quotation marks or white space around it, ` +
        "which Docker's `--env-file` keeps, for one: the provider will not know it. Set " +
        `${variableOf(factoryId, NAMES[credential][1])} (or \`${credential}\`) without them.`,
    }))
  );
}

function missingWarnings(providers: readonly ProviderSummary[]): Notice[] {
  return providers.filter(({ missing }) => missing.length > 0).map(({ id, factoryId, missing }) => {
    const what = missing.map((credential) => NAMES[credential][0]).join(" and no ");
    const how = missing.map((credential) =>
      `${variableOf(factoryId, NAMES[credential][1])} (or \`${credential}\`)`
    );
    return {
      code: "FST_AUTHJS_WARN_CREDENTIALS",
      message:
        `The provider "${id}" has no ${what}, so every sign-in with it fails: set ${how.join(" and ")}, ` +
        "and load the environment before FastifyAuth() is registered." +
        (missing.includes("clientSecret") && !missing.includes("clientId")
          ? ' A client that has no secret says so: `client: { token_endpoint_auth_method: "none" }`.'
          : ""),
    };
  });
}
