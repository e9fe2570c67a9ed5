/** What is known of a deployment that is checked from outside. */
import type { Visitor } from "./visitor.ts";

/** A provider in the list that the deployment serves. */
export interface ServedProvider {
  readonly id: string;
  readonly type: string;
  readonly callbackUrl: string;
}

/** A deployment. */
export interface Deployment {
  /** As users see it. */
  readonly origin: string;
  /** The address of the auth routes. */
  readonly base: string;
  readonly providers: readonly ServedProvider[];
  readonly visitor: Visitor;
}

/** Why URLs of the deployment lead elsewhere, and what to change. */
export function explainOrigin(made: string, origin: string, base: string): string {
  const theirs = URL.canParse(made) ? new URL(made) : undefined;
  const what = `The application makes callback URLs such as ${made}, and users see it at ${base}: `;
  if (theirs?.origin === origin) {
    return `${what}have the proxy pass the path on as it is, or set AUTH_URL=${base}.`;
  }
  const { protocol, host } = new URL(origin);
  const lost = theirs?.host === host && protocol === "https:"
    ? "the proxy has TLS, and the application does not know it. "
    : "the application does not know the address that users type. ";
  return `${what}${lost}Set AUTH_URL=${origin}, or \`trustProxy\` of Fastify to the address ` +
    "of your proxy, and have the proxy send X-Forwarded-Proto and X-Forwarded-Host.";
}
