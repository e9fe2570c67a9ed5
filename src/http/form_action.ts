/**
 * The `form-action` directive of a Content-Security-Policy, which browsers apply to the redirects after a
 * form, too (CSP Level 3 section 6.4.2).
 */
/**
 * Whether a form on a page with these policies may not lead to a URL of another origin. Of the sources only
 * those that allow every host count: a provider may redirect to a host that the policy does not name.
 *
 * @param policies The values of `Content-Security-Policy`, separated by commas.
 * @param url An absolute URL.
 */
export function blocksForms(policies: string, url: string): boolean {
  const { protocol } = new URL(url);
  return policies.split(",").some((policy) => {
    const sources = formAction(policy);
    return sources !== undefined && !sources.some((source) => source === "*" || source === protocol);
  });
}

/** The sources of the first `form-action` of a policy: it is the one that counts. */
function formAction(policy: string): string[] | undefined {
  for (const directive of policy.split(";")) {
    const [name, ...sources] = directive.trim().toLowerCase().split(/\s+/);
    if (name === "form-action") return sources;
  }
}
