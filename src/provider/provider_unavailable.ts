/**
 * Providers that cannot be reached, take too long, fail or answer with something else than what they are asked
 * for. Unlike for a refusal, trying again may help, and the configuration is not at fault.
 */
import { withDeadline } from "../utils/time.ts";
import { errorChain } from "../utils/error_chain.ts";
import { FastifyAuthError } from "../errors.ts";

/** The message is for the log. */
export class ProviderUnavailable extends FastifyAuthError {
  constructor(readonly provider: string, message: string, cause?: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", message, cause === undefined ? {} : { cause });
  }
}

export interface ProviderWait {
  readonly provider: string;
  readonly timeout: number;
  readonly unreachable: string;
  readonly broken: string;
  readonly late: string;
}

/** @throws {ProviderUnavailable} if there is no connection, it breaks off, or there is no result in time. */
export async function waitForProvider<T>(
  work: Promise<T>,
  { provider, timeout, unreachable, broken, late }: ProviderWait,
): Promise<T> {
  const reached = work.catch((error) => {
    if (hasFailed(error, NO_CONNECTION)) throw new ProviderUnavailable(provider, unreachable, error);
    throw hasFailed(error, BROKEN_CONNECTION) ? new ProviderUnavailable(provider, broken, error) : error;
  });
  return await withDeadline(reached, timeout, () => new ProviderUnavailable(provider, late));
}

interface ConnectionFailure {
  /** The codes of Node, its `fetch` (undici) and Bun; the name of an error without one, as undici's of Node 24. */
  readonly codes: readonly RegExp[];
  /** Deno's errors have no code. */
  readonly message: RegExp;
}

const NO_CONNECTION: ConnectionFailure = {
  codes: [
    /^E(?:CONNREFUSED|TIMEDOUT|NOTFOUND|AI_\w+|(?:HOST|NET)(?:UNREACH|DOWN))$/,
    /^(?:UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT|ConnectionRefused|FailedToOpenSocket)$/,
  ],
  message: /client error \(Connect\)/,
};

/** It broke off, or what came over it is not HTTP. */
const BROKEN_CONNECTION: ConnectionFailure = {
  codes: [
    /^(?:ECONN(?:RESET|ABORTED)|EPIPE|UND_ERR_(?:SOCKET|HEADERS_OVERFLOW|RES_\w+))$/,
    /^(?:HPE_\w+|HTTPParserError|Z_\w+|ConnectionClosed)$/,
  ],
  message: /client error \(|error reading a body|connection reset|broken pipe/i,
};

/** A certificate that is not trusted has to be looked at, whoever it is at fault. */
const BAD_TLS = /certificate|handshake|tls/i;

function hasFailed(error: unknown, { codes, message }: ConnectionFailure): boolean {
  const chain = [...errorChain(error) as Iterable<{ code?: unknown; name?: string; message?: unknown }>];
  return chain.some((each) =>
    codes.some((code) => code.test(String(each.code ?? each.name))) ||
    (message.test(String(each.message)) && !BAD_TLS.test(String(each.message)))
  );
}

/** Errors with which a server says that it failed (RFC 6749 section 4.1.2.1). */
const OF_SERVER: readonly unknown[] = ["server_error", "temporarily_unavailable"];

/** What is wrong with a request or the client, whatever the status is (RFC 6749 section 5.2). */
const OF_REQUEST = /^(?:invalid|unauthorized|unsupported)_/;

/** Too many requests, or a proxy whose server is gone, overloaded or silent. */
const UNAVAILABLE_STATUSES = [429, 502, 503, 504];

export function isUnavailableAnswer(status: number, error: string | undefined): boolean {
  // The code is of no use any more, whatever the status is.
  if (error === "invalid_grant") return false;
  if (UNAVAILABLE_STATUSES.includes(status) || OF_SERVER.includes(error)) return true;
  return status >= 500 && !OF_REQUEST.test(error ?? "");
}

/** Finds the unavailable provider behind an error, whose causes core may have wrapped. */
export function findUnavailable(error: unknown): ProviderUnavailable | undefined {
  return [...errorChain(error)].find((each) => each instanceof ProviderUnavailable);
}

export function unavailableProviderError({ provider, cause }: ProviderUnavailable): FastifyAuthError {
  const { status = 0 } = Object(cause) as { readonly status?: number };
  const what = status >= 300 ? `answered ${status}` : status > 0 ? "gave no usable answer" : "did not answer";
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    `The provider "${provider}" ${what}. Try again in a moment.`,
  );
}
