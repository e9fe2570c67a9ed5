/** Warns of providers that have nothing to name the application by. */
import type { Credential, ProviderSummary } from "../provider/summary.ts";
import { variableOf } from "../provider/variables.ts";

const NAMES: Readonly<Record<Credential, readonly [name: string, variable: "ID" | "SECRET" | "KEY"]>> = {
  clientId: ["client id", "ID"],
  clientSecret: ["client secret", "SECRET"],
  apiKey: ["API key", "KEY"],
};

/**
 * A warning for each provider without a client id, secret or API key. It does not stop the boot: an
 * application with ten providers is developed with the credentials of one.
 */
export function missingCredentials(providers: readonly ProviderSummary[]): string[] {
  return providers.filter(({ missing }) => missing.length > 0).map(({ id, factoryId, missing }) => {
    const what = missing.map((credential) => NAMES[credential][0]).join(" and no ");
    const how = missing.map((credential) => settingOf(factoryId, credential)).join(" and ");
    const isPublic = missing.includes("clientSecret") && !missing.includes("clientId");
    return `The provider "${id}" has no ${what}, so every sign-in with it fails: set ${how}, and load the ` +
      "environment before FastifyAuth() is registered." + (isPublic
        ? ' A client that has no secret says so: `client: { token_endpoint_auth_method: "none" }`.'
        : "");
  });
}

/** A warning for each that is not the text that the provider knows. */
export function wrappedCredentials(providers: readonly ProviderSummary[]): string[] {
  return providers.flatMap(({ id, factoryId, wrapped }) =>
    wrapped.map((credential) =>
      `The ${
        NAMES[credential][0]
      } of the provider "${id}" has quotation marks or white space around it, which ` +
      "Docker's `--env-file` keeps, for one: the provider will not know it. Set " +
      `${settingOf(factoryId, credential)} without them.`
    )
  );
}

function settingOf(factoryId: string, credential: Credential): string {
  return `${variableOf(factoryId, NAMES[credential][1])} (or \`${credential}\`)`;
}
