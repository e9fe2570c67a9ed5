/**
 * What a provider says when it refuses a request, fit for a log.
 *
 * @module
 */
import { FastifyAuthError } from "../errors.ts";
import { redactText } from "../http/redact_error.ts";

/** The error in a response (RFC 6749 sections 4.1.2.1 and 5.2, RFC 6750 section 3). */
export interface OAuthError {
  /** The code, such as `invalid_client`. */
  readonly error?: string;
  /** Why, for a developer. */
  readonly error_description?: string;
}

/** Such an error and where it came from: the `cause` of the error that is thrown for it. */
export interface ProviderError extends OAuthError {
  /** The provider's id. */
  readonly provider: string;
  /** The HTTP status, absent where the browser brought the answer. */
  readonly status?: number;
}

const CODE_LENGTH = 80;
const DESCRIPTION_LENGTH = 200;

/** More than this is not looked at. */
const EXAMINED_LENGTH = 4000;

/** Control, format and unassigned characters, and the line separators: they could forge or hide parts of a log. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/** JSON Web Tokens, and runs of characters that are too long for anything but a credential. */
const TOKEN_LIKE = /eyJ[\w-]{8,}(?:\.[\w-]*)*|[\w+=~-]{40,}/g;

/** The names of parameters whose values a provider may repeat and a log may not. */
const SECRET_NAME = /^(?!err).*(?:code|secret|token|assertion|password|state|nonce|key)/is;

/**
 * Makes an error answer fit for a log: shortened, on one line, without credentials.
 *
 * @param answer What came, from whoever sent it.
 * @param sent The parameters that went with it; the values of the secret ones are cut out.
 */
export function toLoggable(
  answer: { error?: unknown; error_description?: unknown },
  sent: Iterable<readonly [string, unknown]> = [],
): OAuthError {
  const secrets = [...sent].flatMap(([name, value]) => SECRET_NAME.test(name) ? [value] : []);
  return toOAuthError(
    toLogText(answer.error, CODE_LENGTH, secrets),
    toLogText(answer.error_description, DESCRIPTION_LENGTH, secrets),
  );
}

/**
 * A text from outside, fit for a log.
 *
 * @param length The most characters of it that are kept.
 * @param secrets Texts that are cut out.
 */
export function toLogText(
  value: unknown,
  length = DESCRIPTION_LENGTH,
  secrets: unknown = [],
): string | undefined {
  if (typeof value !== "string") return undefined;
  const line = redactText(value.slice(0, EXAMINED_LENGTH), secrets)
    .replace(UNPRINTABLE, " ")
    .replace(TOKEN_LIKE, "[redacted]")
    .trim();
  const characters = [...line];
  return characters.length <= length ? line : `${characters.slice(0, length).join("")}…`;
}

/**
 * The error in the headers or the body of a response. Not every provider keeps to RFC 6749, so the shapes that large
 * ones use are known as well: an `error` that is an object (Facebook, Google), `error_type` and `error_message`
 * (Instagram), `errcode` and `errmsg` (WeChat), `message` (Twitch, Notion), a list of `errors` (Fitbit, Coinbase).
 *
 * @param response Its body is left to be read.
 * @returns The error as it came, or `undefined` where there is none that can be read.
 */
export async function readOAuthError(response: Response): Promise<OAuthError | undefined> {
  const body = parseBody(await response.clone().text(), response.headers.get("content-type") ?? "");
  if (response.ok) {
    const error = SUCCESS_MEMBERS.some((member) => member in body) ? undefined : plainCodeOf(body);
    return error === undefined ? undefined : toOAuthError(error, descriptionOf(body));
  }
  const challenge = challengeOf(response.headers.get("www-authenticate"));
  const error = codeOf(body) ?? challenge.error;
  const error_description = descriptionOf(body) ?? challenge.error_description;
  return error || error_description ? toOAuthError(error, error_description) : undefined;
}

/**
 * The error in the parameters that a provider sends the browser back with, in the same shapes; and `error_code` (Facebook).
 *
 * @returns What it has of the two, as it came.
 */
export function errorIn(parameters: Readonly<Record<string, unknown>>): OAuthError {
  return toOAuthError(
    plainCodeOf(parameters) ?? toCode(parameters.error_code),
    descriptionOf(parameters),
  );
}

type Json = Readonly<Record<string, unknown>>;

/** Members of what was asked for: tokens, a user, a discovery document. What has these is no error. */
const SUCCESS_MEMBERS = ["access_token", "id_token", "sub", "id", "issuer"];

function parseBody(body: string, contentType: string): Json {
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType)) {
    return Object.fromEntries(new URLSearchParams(body));
  }
  try {
    return toObject(JSON.parse(body));
  } catch {
    return {};
  }
}

function toObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : {};
}

/** What only an error has. */
function plainCodeOf({ error, error_type, errcode }: Json): string | undefined {
  return [error, error_type].map(toText).find(Boolean) ?? toCode(errcode);
}

function codeOf(body: Json): string | undefined {
  const { type, status, code } = toObject(body.error);
  const { errorType, id } = firstOf(body.errors);
  return plainCodeOf(body) ?? [type, status, code, body.code, errorType, id].map(toCode).find(Boolean);
}

function descriptionOf(body: Json): string | undefined {
  const { error_description, error_message, errmsg, message } = body;
  const inner = [toObject(body.error).message, firstOf(body.errors).message];
  return [error_description, error_message, errmsg, message, ...inner].map(toText).find(Boolean);
}

function firstOf(errors: unknown): Json {
  return Array.isArray(errors) ? toObject(errors[0]) : {};
}

function toOAuthError(error: string | undefined, error_description: string | undefined): OAuthError {
  return { ...(error && { error }), ...(error_description && { error_description }) };
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function toCode(value: unknown): string | undefined {
  return typeof value === "number" && value !== 0 ? String(value) : toText(value);
}

/** The parameters of a challenge; a protected resource has its errors there (RFC 6750 section 3.1). */
function challengeOf(header: string | null): OAuthError {
  const parameter = (name: string) => {
    const pattern = new RegExp(`(?:^|[\\s,])${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s,"]+))`, "i");
    const [, quoted, token] = pattern.exec(header ?? "") ?? [];
    return quoted?.replace(/\\(.)/g, "$1") ?? token;
  };
  return toOAuthError(parameter("error"), parameter("error_description"));
}

/** Errors of core's types whose cause may be a {@linkcode ProviderError}. */
const CARRIERS = new Set(["InvalidCheck", "OAuthCallbackError"]);

/** What is looked at of an error. */
interface ErrorParts {
  readonly type?: string;
  readonly code?: string;
  readonly status?: number;
  readonly cause?: unknown;
}

/**
 * What a provider answered, where that is why something failed; fit for a log.
 *
 * @param errors An error and its causes, outermost first.
 */
export function providerErrorOf(errors: readonly Error[]): Partial<ProviderError> | undefined {
  for (const each of errors) {
    const { type = "", code, status, cause } = each as ErrorParts;
    const told = (cause ?? {}) as Partial<ProviderError> & { readonly cause?: ProviderError };
    if (told.provider !== undefined && (each instanceof FastifyAuthError || CARRIERS.has(type))) {
      return withStatus(told, told.status);
    }
    // Those of oauth4webapi are told by their codes, since a process may have two copies of the package.
    if (code === "OAUTH_RESPONSE_BODY_ERROR") return withStatus(told, told.cause?.status ?? status);
    if (code === "OAUTH_WWW_AUTHENTICATE_CHALLENGE") return withStatus({}, status);
    if (code === "OAUTH_RESPONSE_IS_NOT_CONFORM" && cause instanceof Response) {
      return withStatus({}, cause.status);
    }
  }
}

function withStatus(answer: OAuthError, status: number | undefined): Partial<ProviderError> {
  return { ...(status !== undefined && { status }), ...toLoggable(answer) };
}
