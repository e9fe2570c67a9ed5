import { setTimeout } from "node:timers/promises";
import { assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import {
  AdapterError,
  CallbackRouteError,
  CredentialsSignin,
  JWTSessionError,
  MissingCSRF,
  OAuthCallbackError,
  SignOutError,
} from "@auth/core/errors";
import type { AuthInUse } from "../../../src/core/context.ts";
import { logError, toCoreLogger } from "../../../src/core/logger.ts";
import { UNAUTHENTIC } from "../../../src/jwt/jwe.ts";
import type { Log } from "../../../src/config/notices.ts";

/** A log that keeps what it is told, and an error that tells when its stack is written out, which costs the most of it. */
function setUp() {
  const lines: { level: string; authjs: Record<string, unknown> }[] = [];
  const at = (level: string) => (details: object) => void lines.push({ level, ...details } as never);
  const log: Log = { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
  let written = 0;
  const counted = <E extends Error>(error: E): E =>
    Object.defineProperty(error, "stack", { get: () => (written++, "Error\n    at somewhere") });
  return { log, lines, counted, written: () => written };
}

Deno.test("stacks are written for errors of ours alone, not for what a client got wrong", () => {
  const refused = (kind: typeof JWTSessionError) => new kind(UNAUTHENTIC as never);
  const cases: [error: Error, level: string][] = [
    [new MissingCSRF("x"), "info"],
    [new CredentialsSignin(), "info"],
    [refused(JWTSessionError), "info"],
    [refused(SignOutError), "info"],
    [new AdapterError("x"), "error"],
    [new SignOutError("x"), "error"],
  ];
  for (const [error, level] of cases) {
    const { log, lines, counted, written } = setUp();
    logError(log, counted(error));
    assertEquals(lines.map(({ level }) => level), [level], error.name);
    assertEquals(written() > 0, level === "error", error.name);
    assertEquals("stack" in lines[0]!.authjs, level === "error");
  }
});

Deno.test("addresses in errors are written without the values of their parameters", () => {
  const address = "https://api.example/me?access_token=s3cret&v=1";
  const err = new TypeError(`error sending request for url (${address}): client error (Connect)`);
  const { log, lines } = setUp();
  logError(log, new CallbackRouteError(err as never));
  const text = JSON.stringify(lines);
  assertFalse(text.includes("s3cret"), text);
  assertStringIncludes(text, "(https://api.example/me?access_token=[redacted]&v=[redacted]): client error");
});

Deno.test("the log has what a provider answered, by name", () => {
  const { log, lines } = setUp();
  const answer = { provider: "op", status: 400, error: "invalid_client", error_description: "Unknown client" };
  logError(log, new OAuthCallbackError("x", { cause: answer }));
  const { provider, status, error, error_description } = lines[0]!.authjs;
  assertEquals({ provider, status, error, error_description }, answer);
});

Deno.test("a refused token is told as core's JWTSessionError would be; the application's own logger gets one", () => {
  const { log, lines } = setUp();
  logError(log, new JWTSessionError(UNAUTHENTIC as never));
  const authOf = (core: object) => ({ config: { core }, once: () => {} }) as unknown as AuthInUse;
  toCoreLogger(log, authOf({})).refusal(UNAUTHENTIC);
  assertEquals(lines[1], lines[0]);

  const told: Error[] = [];
  toCoreLogger(log, authOf({ logger: { error: (error: Error) => void told.push(error) } })).refusal(UNAUTHENTIC);
  assertEquals(
    told.map((error) => [error instanceof JWTSessionError, (error.cause as { err: unknown }).err]),
    [
      [true, UNAUTHENTIC],
    ],
  );
  assertEquals(lines.length, 2);
});

Deno.test("an application's own logger may be an instance of a class", () => {
  class Logger {
    readonly #told: Error[] = [];
    error(error: Error) {
      this.#told.push(error);
    }
    get told() {
      return this.#told;
    }
  }
  const own = new Logger();
  const auth = { config: { core: { logger: own } }, once: () => {} } as unknown as AuthInUse;
  toCoreLogger(setUp().log, auth).error(new AdapterError("the database is down"));
  assertEquals(own.told.map(({ name }) => name), ["AdapterError"]);
});

Deno.test("the rejection of an application's own logger is logged, with what it was told", async () => {
  const { log, lines } = setUp();
  const fail = () => Promise.reject(new TypeError("nobody listens"));
  const core = { logger: { error: fail, warn: fail, debug: fail }, debug: true };
  const logger = toCoreLogger(log, { config: { core }, once: () => {} } as unknown as AuthInUse);
  logger.error(new AdapterError("the database is down"));
  logger.refusal(UNAUTHENTIC);
  logger.warn("debug-enabled");
  logger.debug("a request");
  await setTimeout(0);
  const told = lines.map(({ authjs: { type, message, cause } }) => [type, message || (cause as Error).message]);
  const failed = (name: string) => ["Error", `\`logger.${name}\` failed`];
  const expected = [["AdapterError", "the database is down"], failed("error"), failed("error")];
  for (const line of [...expected, failed("warn"), failed("debug")]) {
    assertStringIncludes(JSON.stringify(told), JSON.stringify(line));
  }
});
