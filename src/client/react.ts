// deno-coverage-ignore-file It runs in browsers: tests/flows/react_browser_test.ts has one.
/**
 * The session in components of React 18 and 19, over `fastify-authjs/client`: read once for all of them, again after a
 * sign-in, an update or a sign-out, and again when the window gets the focus. `react` has to be installed.
 *
 * @example
 * ```ts
 * import { SessionProvider, SignedIn, SignedOut, useSession } from "fastify-authjs/react";
 * import { createElement as h } from "react";
 *
 * function Name() {
 *   return h("b", null, useSession().session?.user?.name);
 * }
 * const page = h(SessionProvider, null, h(SignedIn, null, h(Name)), h(SignedOut, null, "Please sign in."));
 * console.assert(page.type === SessionProvider);
 * ```
 * @module
 */
import type { Session } from "@auth/core/types";
import { createContext, createElement, useContext, useState, useSyncExternalStore } from "react";
import { createAuthClient } from "./client.ts";
import type { AuthClient } from "./types.ts";

/** What is known of the session. */
export interface SessionState<S = Session> {
  /**
   * `"loading"` until it was read for the first time. `"unknown"` if the server does not answer: `session` is the last
   * one that was read, and `error` says why.
   */
  readonly status: "loading" | "signed-in" | "signed-out" | "unknown";
  /** The session, or null. */
  readonly session: S | null;
  /** Why it is not known. */
  readonly error?: unknown;
}

/** The properties of {@linkcode SessionProvider}. */
export interface SessionProviderProps {
  /**
   * The client, made outside of components.
   * @default createAuthClient()
   */
  readonly client?: AuthClient;
  /** What the server has rendered with: a session, or null for a visitor. By default it is read in the browser. */
  readonly session?: Session | null;
  /** The part of the page that uses the session. */
  readonly children?: unknown;
}

/** The properties of {@linkcode SignedIn} and {@linkcode SignedOut}. */
export interface SignedProps {
  /** What is shown. */
  readonly children?: unknown;
}

const found = (session: Session | null): SessionState => ({ status: session ? "signed-in" : "signed-out", session });

function createStore(client: AuthClient, given?: Session | null) {
  const first: SessionState = given === undefined ? { status: "loading", session: null } : found(given);
  let state = first;
  let latest = 0;
  /** Ends that the session is followed; null once nothing has followed it for a time. */
  let stop: (() => void) | null | undefined;
  const components = new Set<() => void>();
  const read = async () => {
    const own = ++latest;
    const next = await client.getSession().then(
      found,
      (error): SessionState => ({ status: "unknown", session: state.session, error }),
    );
    if (own !== latest) return; // another read has begun since, after a sign-out perhaps
    state = next;
    components.forEach((update) => update());
  };
  const start = () => {
    const ended = new AbortController();
    const end = client.onChange(read);
    addEventListener("focus", read, ended);
    // Shown again as it was left, by the back button
    addEventListener("pageshow", (event) => (event as PageTransitionEvent).persisted && read(), ended);
    if (stop === null || state.status === "loading") read();
    stop = () => {
      stop = null;
      end();
      ended.abort();
    };
  };
  return {
    client,
    read: () => state,
    first: () => first,
    subscribe(update: () => void) {
      components.add(update);
      if (!stop) start();
      return () => {
        components.delete(update);
        // Others may come at once, such as those of the next page.
        queueMicrotask(() => components.size === 0 && stop?.());
      };
    },
  };
}

const Current = createContext(null);

/** Reads the session for the components below it. */
// deno-lint-ignore no-explicit-any -- what renders, in a declaration that compiles without the types of React
export function SessionProvider({ client, session, children }: SessionProviderProps): any {
  const [store] = useState(() => createStore(client ?? createAuthClient(), session));
  return createElement(Current.Provider, { value: store }, children);
}

/**
 * The session, in any component below {@linkcode SessionProvider}, which is rendered again when it changes.
 * @returns What is known of the session, and `auth`, the client that signs in and out.
 * @throws {Error} Outside of a `SessionProvider`.
 */
export function useSession<S = Session>(): SessionState<S> & { readonly auth: AuthClient } {
  const store: ReturnType<typeof createStore> | null = useContext(Current);
  if (!store) throw new Error("useSession() needs a <SessionProvider> above it.");
  const state: SessionState = useSyncExternalStore(store.subscribe, store.read, store.first);
  return { ...(state as SessionState<never>), auth: store.client };
}

/** Shows its children to signed-in users. */
// deno-lint-ignore no-explicit-any -- as above
export function SignedIn({ children }: SignedProps): any {
  return useSession().session ? children : null;
}

/** Shows its children to visitors, once it is known that no user is signed in. */
// deno-lint-ignore no-explicit-any -- as above
export function SignedOut({ children }: SignedProps): any {
  return useSession().status === "signed-out" ? children : null;
}
