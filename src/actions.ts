/**
 * The routes core serves, and how each is reached.
 *
 * @module
 */
import type { ConfiguredProvider } from "./provider/facts.ts";

/** Marks the routes of the plugin in their `config`, so that a guard at the root lets them through. */
export const AUTH_ROUTE: unique symbol = Symbol("fastify-authjs.route");

/** One route below the mount path. */
export interface AuthRoute {
  /** The action, as core names it. */
  readonly action: string;
  /** The methods core serves it for. */
  readonly methods: readonly ("GET" | "POST")[];
  /** Whether a provider id follows the action. */
  readonly provider: boolean;
}

/** Every route, under any prefix. */
export const AUTH_ROUTES: readonly AuthRoute[] = [
  { action: "signin", methods: ["GET", "POST"], provider: false },
  { action: "signin", methods: ["GET", "POST"], provider: true },
  { action: "callback", methods: ["GET", "POST"], provider: true },
  { action: "signout", methods: ["GET", "POST"], provider: false },
  { action: "session", methods: ["GET", "POST"], provider: false },
  { action: "csrf", methods: ["GET"], provider: false },
  { action: "providers", methods: ["GET"], provider: false },
  { action: "error", methods: ["GET"], provider: false },
  { action: "verify-request", methods: ["GET"], provider: false },
  { action: "webauthn-options", methods: ["GET"], provider: true },
];

/** The methods of a route for one provider: a password or an authenticator's response never comes in a URL. */
export function methodsFor(route: AuthRoute, provider: ConfiguredProvider): AuthRoute["methods"] {
  const posted = provider.type === "credentials" || provider.type === "webauthn";
  return route.action === "callback" && posted ? ["POST"] : route.methods;
}
