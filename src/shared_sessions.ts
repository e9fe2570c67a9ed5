/**
 * Configurations of one process that take each other's sessions for their own.
 *
 * A browser sends its cookies to every port of a host, and processes mostly have one AUTH_SECRET: somebody who signed in at
 * the public application would be signed in at the one for staff. So this looks at the process, not at one server.
 *
 * @module
 */
import type { AuthInstance } from "./auth_instance.ts";

/** A configuration that an application uses. */
export interface SessionRegistration {
  /** What to tell, where another configuration that is in use shares its sessions. */
  readonly warning: string | undefined;
  /** Ends the registration, when its application closes. */
  release(): void;
}

interface Entry {
  /** Weak, since not every application is closed. */
  readonly auth: WeakRef<AuthInstance>;
}

/** The configurations in use in this process. */
const entries = new Set<Entry>();

/** Registers a configuration for an application that is about to use it, until the application closes. */
export function registerSessions(auth: AuthInstance): SessionRegistration {
  const warning = othersInUse(auth).some((other) => share(other, auth)) ? toWarning(auth) : undefined;
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
  return `Two configurations of this process have a secret and the session cookie "${
    cookieOf(auth)
  }" in common: ` +
    "whoever signs in through one of them is signed in with the other. Give one of them its own `secret` or its own " +
    "`cookies.sessionToken.name`; where both are to be one, pass the same object to FastifyAuth().";
}

/** Sessions that are rows of a database are known to the adapter that keeps them, and to no other. */
function share(a: AuthInstance, b: AuthInstance): boolean {
  if ([a, b].some((auth) => auth.settings(false).strategy !== "jwt")) return false;
  return cookieOf(a) === cookieOf(b) && secretsOf(a).some((secret) => secretsOf(b).includes(secret));
}

/** Without the prefix that https adds: whether a request came over https may be up to the request. */
function cookieOf(auth: AuthInstance): string {
  return auth.settings(auth.config.origin?.secure ?? false).cookie.name.replace(/^__Secure-/, "");
}

function secretsOf(auth: AuthInstance): string[] {
  return [auth.settings(false).jwt.secret].flat().filter((secret) => secret !== undefined);
}
