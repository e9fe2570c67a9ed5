/** The environment variables of a provider, as core names them. */

/** The variable of one setting: `AUTH_<ID>_<setting>`. */
export function variableOf(id: string, setting: "ID" | "SECRET" | "ISSUER" | "KEY"): string {
  return `AUTH_${id.toUpperCase().replace(/-/g, "_")}_${setting}`;
}
