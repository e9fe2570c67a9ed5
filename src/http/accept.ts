/** What a client accepts, by its `Accept` header (RFC 9110 section 12.5.1). */

/** Whether the client accepts `text/html` by name: browsers do for a page, `fetch()` by default does not. */
export function acceptsHtml(accept = ""): boolean {
  return accept.toLowerCase().split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    return type === "text/html" && !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter));
  });
}
