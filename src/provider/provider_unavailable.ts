/**
 * Providers that cannot be reached, take too long or say that they cannot answer now. Unlike for a bad answer,
 * trying again helps, and the configuration is not at fault.
 */
import { withDeadline } from "../utils/deadline.ts";
import { errorChain } from "../utils/error_chain.ts";
import { FastifyAuthError } from "../errors.ts";

/**
 * A provider took too long, there was no connection to it, or it is overloaded or down. The message is for the
 * log.
 */
export class ProviderUnavailable extends FastifyAuthError {
  constructor(readonly provider: string, message: string, cause?: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", message, cause === undefined ? {} : { cause });
  }
}

/** What to wait for, and the messages for the log. */
export interface ProviderWait {
  /** The provider's id. */
  readonly provider: string;
  /** Milliseconds; 0 for no limit. */
  readonly timeout: number;
  readonly unreachable: string;
  readonly late: string;
}

/**
 * Waits for work that sends requests to a provider.
 *
 * @throws {ProviderUnavailable} where there is no connection, or no result in time.
 */
export async function waitForProvider<T>(
  work: Promise<T>,
  { provider, timeout, unreachable, late }: ProviderWait,
): Promise<T> {
  const reached = work.catch((error) => {
    throw isUnreachable(error) ? new ProviderUnavailable(provider, unreachable, error) : error;
  });
  return await withDeadline(reached, timeout, () => new ProviderUnavailable(provider, late));
}

/** Whether there was no connection. A connection that breaks off later counts as a bad answer. */
function isUnreachable(error: unknown): boolean {
  return [...errorChain(error) as Iterable<{ code?: unknown; message?: unknown }>].some(({ code, message }) =>
    UNREACHABLE.test(String(code)) || (NO_CONNECTION.test(String(message)) && !BAD_TLS.test(String(message)))
  );
}

/** The codes of Node, its `fetch` (undici) and Bun. */
const UNREACHABLE =
  /^(?:E(?:CONNREFUSED|TIMEDOUT|NOTFOUND|AI_\w+|(?:HOST|NET)(?:UNREACH|DOWN))|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/;

/** Deno's errors have no code. */
const NO_CONNECTION = /client error \(Connect\)/;
const BAD_TLS = /certificate|handshake|tls/i;

/** Too many requests, or a proxy whose server is gone, overloaded or silent. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Whether a provider answered that trying again later helps. A status of 500 says only that it failed, which
 * the request may be the reason of.
 *
 * @param error The code of RFC 6749.
 */
export function isUnavailableAnswer(status: number, error: string | undefined): boolean {
  // The code is of no use any more, whatever the status is.
  if (error === "invalid_grant") return false;
  return UNAVAILABLE_STATUSES.has(status) || error === "temporarily_unavailable";
}

/** Finds the unavailable provider behind an error, whose causes core may have wrapped. */
export function findUnavailable(error: unknown): ProviderUnavailable | undefined {
  return [...errorChain(error)].find((each) => each instanceof ProviderUnavailable);
}

/** The error for the client. */
export function unavailableProviderError({ provider, cause }: ProviderUnavailable): FastifyAuthError {
  const { status } = (cause ?? {}) as { readonly status?: number };
  const what = status === undefined ? "did not answer" : `answered ${status}`;
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    `The provider "${provider}" ${what}. Try again in a moment.`,
  );
}
