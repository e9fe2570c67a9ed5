/** Follows the session of a connection that stays open. */
import { clearTimeout, setTimeout } from "node:timers";
import type { ActionAuth } from "../../actions/perform.ts";
import { toCoreLogger } from "../../core/logger.ts";
import { assertObject, invalid } from "../../utils/arguments.ts";
import { presentedToken } from "../../instance/read_session.ts";
import { type EndingContext, hasEnded, hasEndedElsewhere } from "../../session/ending.ts";
import { openToken, sessionName } from "../../session/open.ts";
import { RequestReads } from "../../session/request_reads.ts";
import { rowEnd } from "../../session/settings.ts";
import type { SessionRequest } from "../../types.ts";

/** Connections that stay open, as the object of `createAuth()` follows their sessions. */
export interface LiveConnectionsActions {
  /**
   * Calls a function once when the session of a request ends, such as to close its WebSocket or its stream of
   * server-sent events. If this process ends the session, that is at once; else with the next check, or when it
   * expires. If there is no session, it is called now.
   *
   * A check renews nothing and calls no callback. One that fails, such as while the database is down, is logged and
   * repeated, until the session expires by what was known last.
   * @param request The request that opened the connection.
   * @param callback What to do then. What it throws is logged.
   * @param options `interval` is how often the session is checked, in milliseconds: at most 10 minutes, by
   * default 20 seconds.
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

/** Milliseconds: the longest interval, since a store knows an end for 15 minutes, and the default. */
const LONGEST_MS = 600_000, INTERVAL_MS = 20_000;

export async function onSessionEnd(
  { instance, config }: ActionAuth,
  request: LiveRequest,
  callback: () => unknown,
  options: { readonly interval?: number } = {},
): Promise<() => void> {
  assertObject(options, "options of onSessionEnd()", ["interval"]);
  const { interval = INTERVAL_MS } = options;
  if (typeof callback !== "function") throw invalid("onSessionEnd()", "give it a function to call at the end.");
  if (typeof interval !== "number" || !(interval > 0 && interval <= LONGEST_MS)) {
    throw invalid("onSessionEnd()", `\`interval\` is in milliseconds, from 1 to ${LONGEST_MS}.`);
  }
  await instance.requireReady();
  const { log, raw: { socket } } = request;
  const presented = presentedToken(request, config);
  const name = presented && await sessionName(presented.cookie.token, presented.settings);
  let token = presented?.cookie.token ?? "";
  const { watches } = instance.live;
  const closing = [socket, RequestReads.of(request).reply?.raw ?? socket];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ends = Infinity;
  let checks = 0;

  function stop(): void {
    checks = NaN;
    clearTimeout(timer);
    for (const each of closing) each.off("close", stop);
    const told = watches.get(name!);
    if (told?.delete(watch) && told.size === 0) watches.delete(name!);
  }

  async function end(): Promise<void> {
    stop();
    try {
      await callback();
    } catch (error) {
      log.error(error, "Auth.js: the function that onSessionEnd() was given failed.");
    }
  }

  /** Checks the session. A check that begins later takes the place of one under way. */
  async function check(): Promise<void> {
    const own = ++checks;
    clearTimeout(timer);
    try {
      const { settings } = presented!;
      const logger = toCoreLogger(log, instance);
      token = settings.live.newest(token);
      const end = await endOf(token, name!, { settings, logger });
      if (own === checks) ends = end;
    } catch (error) {
      log.error(error, "Auth.js: onSessionEnd() could not check the session, and tries again.");
    }
    // deno-coverage-ignore Another check has begun meanwhile
    if (own !== checks) return;
    const left = ends - Date.now();
    if (left <= 0) return await end();
    timer = setTimeout(check, Math.max(1, Math.min(interval, left)));
    timer.unref();
  }

  function watch(by?: string): void {
    if (by === undefined) void check();
    else token = by;
  }

  // deno-coverage-ignore The connection has closed while the session was read
  if (closing.some(({ destroyed }) => destroyed)) return stop;
  if (name === undefined) {
    await end();
    return stop;
  }
  for (const each of closing) each.once("close", stop);
  watches.set(name, (watches.get(name) ?? new Set()).add(watch));
  await check();
  return stop;
}

/**
 * When a session ends unless it is used, in milliseconds since 1970; 0 if it has ended. Nothing is renewed: a new token
 * could not be given to the client.
 */
async function endOf(token: string, name: string, context: EndingContext): Promise<number> {
  const { settings } = context;
  if (await hasEnded(name, context)) return 0;
  if (settings.strategy === "database") {
    const found = await settings.adapter!.getSessionAndUser!(token);
    return found === null ? 0 : rowEnd(found.session.expires, name, settings).valueOf();
  }
  const opened = await openToken(token, settings).catch(() => undefined);
  if (opened === undefined || await hasEndedElsewhere(opened, settings.hooks)) return 0;
  return Date.parse(opened.ends.kept);
}
