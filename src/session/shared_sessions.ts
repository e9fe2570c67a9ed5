/**
 * Configurations of one process that take each other's sessions for their own.
 *
 * A browser sends its cookies to every port of a host, and processes mostly have one AUTH_SECRET: somebody who signed in at
 * the public application would be signed in at the one for staff. So this looks at the process, not at one server.
 *
 * @module
 */
import type { AuthInstance } from "../auth_instance.ts";

/** The configurations in use, once for each registration. Weak, since not every application is closed. */
const registered = new Set<WeakRef<AuthInstance>>();

/** What a registration found out. */
export interface SessionSharing {
  /** What to tell, where another configuration shares its sessions. */
  readonly warning: string | undefined;
  /** Ends the registration, when its application closes. */
  readonly release: () => void;
}

/** Registers a configuration that an application uses. */
export function registerSessions(auth: AuthInstance): SessionSharing {
  const other = inUse().find((each) => each !== auth && share(each, auth));
  const entry = new WeakRef(auth);
  registered.add(entry);
  return {
    warning: other &&
      `Two configurations of this process have a secret and the session cookie "${
          cookieOf(auth)
        }" in common: whoever signs in through one of them is signed in with the other. Give one of them its own ` +
        "`secret` or its own `cookies.sessionToken.name`; where both are to be one, pass the same object to FastifyAuth().",
    release: () => void registered.delete(entry),
  };
}

function inUse(): AuthInstance[] {
  return [...registered].flatMap((entry) => {
    const auth = entry.deref();
    if (auth === undefined) registered.delete(entry);
    return auth ?? [];
  });
}

function share(a: AuthInstance, b: AuthInstance): boolean {
  return cookieOf(a) === cookieOf(b) && secretsOf(a).some((secret) => secretsOf(b).includes(secret));
}

/** Without the prefix that https adds: whether a request came over https may be up to the request. */
function cookieOf(auth: AuthInstance): string {
  return auth.settings(auth.config.origin?.secure ?? false).cookie.name.replace(/^__Secure-/, "");
}

function secretsOf(auth: AuthInstance): string[] {
  return [auth.settings(false).jwt.secret].flat().filter((secret) => secret !== undefined);
}
