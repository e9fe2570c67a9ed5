/** What connections that stay open are given. */
import type { SessionRequest } from "../../types.ts";

/** Connections that stay open, as the object of `createAuth()` follows their sessions. */
export interface LiveConnectionsActions {
  /**
   * Calls a function once when the session of a request ends, such as to close its WebSocket or its stream of
   * server-sent events. If this process ends the session, that is at once; else with the next look, or when it
   * expires. If there is no session, it is called now.
   *
   * A look renews nothing and calls no callback. One that fails, such as while the database is down, is logged and
   * repeated, until the session expires by what was known last.
   *
   * @param request The request that opened the connection.
   * @param callback What to do then. What it throws is logged.
   * @param options `interval` is how often the session is looked at, in milliseconds; by default 20 seconds.
   * @returns A function that stops it, which the end of the connection does, too.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a wrong argument or configuration.
   */
  readonly onSessionEnd: (
    request: LiveRequest,
    callback: () => unknown,
    options?: { readonly interval?: number },
  ) => Promise<() => void>;
}

/** A request whose connection stays open. */
export type LiveRequest = SessionRequest & {
  /** The request of Node. */
  readonly raw: { readonly socket: LiveSocket };
};

/** What is used of a socket. */
export interface LiveSocket {
  /** Whether it is closed. */
  readonly destroyed: boolean;
  /** As Node's. */
  once(event: "close", listener: () => void): unknown;
  /** As Node's. */
  off(event: "close", listener: () => void): unknown;
}
