/** The errors of providers: read from their responses and made fit for a log, and those of whom did not answer. */
import { FastifyAuthError } from "../errors.ts";
import { redactText } from "../http/redact.ts";
import { parseJsonObject } from "../utils/decode.ts";
import { errorChain } from "../utils/error_chain.ts";
import { lazyPattern } from "../utils/later.ts";
import { withDeadline } from "../utils/time.ts";

/** The error in a response (RFC 6749 sections 4.1.2.1 and 5.2, RFC 6750 section 3). */
export type OAuthError = Readonly<{ error?: string; error_description?: string }>;

/** The `cause` of the error that is thrown for a provider's error. */
export interface ProviderError extends OAuthError {
  readonly provider: string;
  /** The HTTP status; absent for an error in the callback URL. */
  readonly status?: number;
}

const CODE_LENGTH = 80, DESCRIPTION_LENGTH = 200, EXAMINED_LENGTH = 4000;

/** Control, format and unassigned characters, and line separators, which could forge or hide parts of a log. */
const unprintable = lazyPattern(String.raw`[\p{C}\p{Zl}\p{Zp}]+`, "gu");

/** JSON Web Tokens, and words so long that they are probably credentials. */
const TOKEN_LIKE = /eyJ[\w-]{8,}(?:\.[\w-]*)*|[\w+=~-]{40,}/g;

/** E-mail addresses: some providers name the user whom they refuse. */
const ADDRESS_LIKE = /[^\s"'<>()@]{1,64}(?:@|%40)[^\s"'<>()@]{1,255}/gi;

/** Parameters whose values must not be in a log; a provider may repeat them in its error. */
const SECRET_NAME = /^(?!err).*(?:code|secret|token|assertion|password|state|nonce|key)/is;

/** Makes an error fit for a log: short, on one line, without credentials and secret parameters of the request. */
export function toLoggable(
  { error, error_description }: { error?: unknown; error_description?: unknown },
  sent: Iterable<readonly [string, unknown]> = [],
): OAuthError {
  const secrets = [...sent].flatMap(([name, value]) => SECRET_NAME.test(name) ? [value] : []);
  return toOAuthError(toLogText(error, CODE_LENGTH, secrets), toLogText(error_description, undefined, secrets));
}

export function toLogText(value: unknown, length = DESCRIPTION_LENGTH, secrets: unknown = []) {
  if (typeof value !== "string") return undefined;
  const line = redactText(value.slice(0, EXAMINED_LENGTH), secrets)
    .replace(unprintable(), " ")
    .replace(TOKEN_LIKE, "[redacted]")
    .replace(ADDRESS_LIKE, "[redacted]")
    .trim();
  const characters = [...line];
  return characters.length <= length ? line : `${characters.slice(0, length).join("")}…`;
}

/** Codes of RFC 6749, Instagram and WeChat, which only errors have; and of Facebook, Google, Fitbit and Coinbase. */
const PLAIN_CODES = ["error", "error_type", "errcode"];
const OBJECT_CODES = ["error.type", "error.status", "error.code", "code", "errors.0.errorType", "errors.0.id"];

/** And its description: as in RFC 6749, of Instagram, WeChat, Twitch and Notion, and of the objects and lists. */
const DESCRIPTIONS = ["error_description", "error_message", "errmsg", "message", "error.message", "errors.0.message"];

/** Members of tokens, a user or a discovery document. A body with one of them is no error. */
const SUCCESS_MEMBERS = ["access_token", "id_token", "sub", "id", "issuer"];

/** Reads the error in the headers or the body of a response; the body can be read again. */
export async function readOAuthError(response: Response): Promise<OAuthError | undefined> {
  // By its method: its class would have Node load `fetch` when the application starts.
  const text = "peek" in response ? (response as Response & { peek(): string }).peek() : await response.clone().text();
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(response.headers.get("content-type") ?? "");
  const body = isForm ? Object.fromEntries(new URLSearchParams(text)) : parseJsonObject(text) ?? {};
  if (response.ok) {
    const isSuccess = SUCCESS_MEMBERS.some((member) => member in body);
    const error = isSuccess ? undefined : textAt(body, PLAIN_CODES);
    return error === undefined ? undefined : toOAuthError(error, textAt(body, DESCRIPTIONS));
  }
  const challenge = challengeOf(response.headers.get("www-authenticate"));
  const error = textAt(body, [...PLAIN_CODES, ...OBJECT_CODES]) ?? challenge.error;
  const error_description = textAt(body, DESCRIPTIONS) ?? challenge.error_description;
  return error || error_description ? toOAuthError(error, error_description) : undefined;
}

/** Reads the error in the parameters of a callback URL: the same forms, and `error_code` (Facebook). */
export function errorIn(parameters: Readonly<Record<string, unknown>>): OAuthError {
  return toOAuthError(textAt(parameters, [...PLAIN_CODES, "error_code"]), textAt(parameters, DESCRIPTIONS));
}

/** The first text, or number other than 0, at one of the paths. */
function textAt(body: unknown, paths: readonly string[]): string | undefined {
  const values = paths.map((path) =>
    path.split(".").reduce((part: unknown, name) => (Object(part) as Record<string, unknown>)[name], body)
  );
  const found = values.find((value) => (typeof value === "string" || typeof value === "number") && value);
  return found === undefined ? undefined : String(found);
}

function toOAuthError(error: string | undefined, error_description: string | undefined): OAuthError {
  return { ...(error && { error }), ...(error_description && { error_description }) };
}

/** The error in a `WWW-Authenticate` header (RFC 6750 section 3.1). */
function challengeOf(header: string | null): OAuthError {
  const parameter = (name: string) => {
    const pattern = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, "i");
    const [, quoted, token] = pattern.exec(header ?? "") ?? [];
    return quoted?.replace(/\\(.)/g, "$1") ?? token;
  };
  return toOAuthError(parameter("error"), parameter("error_description"));
}

/** Types of core's errors whose cause may be a {@linkcode ProviderError}. */
const WITH_PROVIDER_ERROR = ["InvalidCheck", "OAuthCallbackError"];

/** The provider's error that caused an error, fit for a log. */
export function providerErrorOf(errors: readonly Error[]): Partial<ProviderError> | undefined {
  for (const each of errors) {
    const { type = "", code, status, cause } = each as Error & { type?: string; code?: string; status?: number };
    const details = (cause ?? {}) as Partial<ProviderError> & { readonly cause?: ProviderError };
    const isOurs = each instanceof FastifyAuthError || WITH_PROVIDER_ERROR.includes(type);
    if (details.provider !== undefined && isOurs) return withStatus(details, details.status);
    // Errors of oauth4webapi have codes; `instanceof` fails if a process has two copies of the package.
    if (code === "OAUTH_RESPONSE_BODY_ERROR") return withStatus(details, details.cause?.status ?? status);
    if (code === "OAUTH_WWW_AUTHENTICATE_CHALLENGE") return withStatus({}, status);
    if (code === "OAUTH_RESPONSE_IS_NOT_CONFORM" && cause instanceof Response) return withStatus({}, cause.status);
  }
}

function withStatus(error: OAuthError, status: number | undefined): Partial<ProviderError> {
  return { ...(status !== undefined && { status }), ...toLoggable(error) };
}

/** No or no usable answer: unlike for a refusal, trying again may help. The message is for the log. */
export class ProviderUnavailable extends FastifyAuthError {
  constructor(readonly provider: string, message: string, cause?: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", message, cause === undefined ? {} : { cause });
  }
}

/** @throws {ProviderUnavailable} if there is no connection, it breaks off, or there is no result in time. */
export async function waitForProvider<T>(
  work: Promise<T>,
  provider: string,
  timeout: number,
  { unreachable, broken, late }: Readonly<Record<"unreachable" | "broken" | "late", string>>,
): Promise<T> {
  const reached = work.catch((error) => {
    if (hasFailed(error, NO_CONNECTION)) throw new ProviderUnavailable(provider, unreachable, error);
    throw hasFailed(error, BROKEN_CONNECTION) ? new ProviderUnavailable(provider, broken, error) : error;
  });
  return await withDeadline(reached, timeout, () => new ProviderUnavailable(provider, late));
}

/** The codes of Node, its `fetch` (undici) and Bun, or the name of an error without one; the messages of Deno. */
type ConnectionFailure = Readonly<{ codes: readonly RegExp[]; message: RegExp }>;

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
  const chain = errorChain(error) as { code?: unknown; name?: string; message?: unknown }[];
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
  return errorChain(error).find((each) => each instanceof ProviderUnavailable);
}

export function unavailableProviderError({ provider, cause }: ProviderUnavailable): FastifyAuthError {
  const { status = 0 } = Object(cause) as { readonly status?: number };
  const what = status >= 300 ? `answered ${status}` : status > 0 ? "gave no usable answer" : "did not answer";
  return new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", `The provider "${provider}" ${what}. Try again in a moment.`);
}
