/**
 * Providers that do not answer, as opposed to those that answer badly: trying again helps, and nothing is wrong with the
 * configuration.
 *
 * @module
 */
import { errorChain } from "../utils/error_chain.ts";
import { FastifyAuthError } from "../errors.ts";

/** A provider took too long, or there was no connection to it. */
export class ProviderUnavailable extends FastifyAuthError {
  /** The provider's id. */
  readonly provider: string;

  /**
   * @param provider The provider's id.
   * @param what What it did not answer, for the log.
   * @param cause Why there was no connection.
   */
  constructor(provider: string, what: string, cause?: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", what, cause === undefined ? {} : { cause });
    this.provider = provider;
  }
}

/** What a client is told. */
export function unavailableProviderError({ provider }: ProviderUnavailable): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    `The provider "${provider}" did not answer. Try again in a moment.`,
  );
}

/** The silence behind an error; core puts what it caught into `cause.err`. */
export function findUnavailable(error: unknown): ProviderUnavailable | undefined {
  return [...errorChain(error)].find((each) => each instanceof ProviderUnavailable);
}

/** Whether a request failed before it reached anybody. What is cut off later on is an answer, if a bad one. */
export function isUnreachable(error: unknown): boolean {
  return [...errorChain(error) as Iterable<{ code?: unknown; message?: unknown }>].some(({ code, message }) =>
    UNREACHABLE.test(String(code)) || (NO_CONNECTION.test(String(message)) && !BAD_TLS.test(String(message)))
  );
}

/** The codes of Node, its `fetch` (undici) and Bun. */
const UNREACHABLE =
  /^(?:E(?:CONNREFUSED|TIMEDOUT|NOTFOUND|AI_\w+|(?:HOST|NET)(?:UNREACH|DOWN))|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;

/** Deno has no codes. */
const NO_CONNECTION = /client error \(Connect\)/;

/** Somebody is there who cannot be believed. */
const BAD_TLS = /certificate|handshake|tls/i;
