/**
 * Detects configurations of one process that accept each other's sessions.
 *
 * A browser sends its cookies to every port of a host, and all applications of a process mostly have one
 * AUTH_SECRET: a user of the public application would be signed in at the one for staff.
 */
import type { AuthInstance } from "./auth_instance.ts";

/** A configuration that an application uses. */
export interface SessionRegistration {
  /** The warning, where another configuration in use accepts the same sessions. */
  readonly warning: string | undefined;
  /** Ends the registration, when its application closes. */
  release(): void;
}

interface Entry {
  /** A weak reference, since not every application is closed. */
  readonly auth: WeakRef<AuthInstance>;
}

/**
 * The configurations in use. Kept for the process, since they are compared with each other: applications on
 * two ports of a host share cookies, and know nothing else of one another.
 */
const entries = new Set<Entry>();

/** Registers a configuration for an application that is about to use it, until the application closes. */
export function registerSessions(auth: AuthInstance): SessionRegistration {
  const warning = othersInUse(auth).some((other) => shareSessions(other, auth)) ? toWarning(auth) : undefined;
  const entry: Entry = { auth: new WeakRef(auth) };
  entries.add(entry);
  return { warning, release: () => void entries.delete(entry) };
}

function othersInUse(own: AuthInstance): AuthInstance[] {
  const others: AuthInstance[] = [];
  for (const entry of entries) {
    const auth = entry.auth.deref();
    if (auth === undefined) entries.delete(entry);
    else if (auth !== own) others.push(auth);
  }
  return others;
}

function toWarning(auth: AuthInstance): string {
  return `Two configurations of this process have a secret and the session cookie "${cookieOf(auth)}" in ` +
    "common: a user who signs in through one of them is signed in with the other. Give one of them its own " +
    "`secret` or its own `cookies.sessionToken.name`; where both are to be one, pass the same object to " +
    "FastifyAuth().";
}

/**
 * Whether two configurations accept the same sessions. Sessions in a database are only known to their
 * adapter.
 */
export function shareSessions(a: AuthInstance, b: AuthInstance): boolean {
  if ([a, b].some((auth) => auth.settings(false).strategy !== "jwt")) return false;
  return cookieOf(a) === cookieOf(b) && secretsOf(a).some((secret) => secretsOf(b).includes(secret));
}

/** The name of the session cookie, without the prefix for https: both schemes may be in use. */
function cookieOf(auth: AuthInstance): string {
  return auth.settings(auth.config.origin?.secure ?? false).cookie.name.replace(/^__Secure-/, "");
}

function secretsOf(auth: AuthInstance): string[] {
  return [auth.settings(false).jwt.secret].flat().filter((secret) => secret !== undefined);
}
