/** Checks what providers answer before core reads it: of most wrong answers core could not say what is wrong. */
import { FastifyAuthError } from "../errors.ts";
import { redactUrl } from "../http/redact.ts";
import { parseJson, parseJsonObject } from "../utils/decode.ts";
import { isUnavailableAnswer, type OAuthError, type ProviderError, ProviderUnavailable } from "./provider_error.ts";
import { readOAuthError, toLoggable, toLogText } from "./provider_error.ts";

const UTF_8 = new TextDecoder();

/**
 * A response with a body in memory, which is read and copied without a stream. To make or read a stream takes longer
 * than to parse the JSON in it. And `Response.clone()` of Node 20 shares the stream: when the copy is
 * garbage-collected, the body of the original is cancelled.
 */
export class BufferedResponse extends Response {
  readonly #held: Uint8Array<ArrayBuffer> | string | null;
  #isRead = false;
  #streamed: Response | undefined;

  constructor(held: Uint8Array<ArrayBuffer> | string | null, init?: ResponseInit) {
    super(null, init);
    this.#held = held;
  }

  override get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.#whole().body;
  }

  override get bodyUsed(): boolean {
    return this.#isRead || this.#streamed?.bodyUsed === true;
  }

  override clone(): BufferedResponse {
    this.#assertUnread();
    return new BufferedResponse(this.#held, this);
  }

  // deno-lint-ignore require-await -- an error is a rejection
  override async text(): Promise<string> {
    this.#assertUnread();
    this.#isRead = true;
    return this.peek();
  }

  override async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    return await this.#unread().arrayBuffer();
  }

  override async blob(): Promise<Blob> {
    return await this.#unread().blob();
  }

  override async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await this.arrayBuffer());
  }

  override async formData(): Promise<FormData> {
    return await this.#unread().formData();
  }

  /** The body as text, which can be read all the same. */
  peek(): string {
    return typeof this.#held === "string" ? this.#held : UTF_8.decode(this.#held ?? undefined);
  }

  /** The same response with a stream, which is made when it is first asked for. */
  #whole(): Response {
    return this.#streamed ??= new Response(this.#held, this);
  }

  #unread(): Response {
    this.#assertUnread();
    return this.#whole();
  }

  #assertUnread(): void {
    if (this.bodyUsed) throw new TypeError("The body of the response has been read already.");
  }
}

interface ProviderAnswer {
  readonly provider: string;
  readonly response: BufferedResponse;
  readonly href: string;
  /** The parameters of the request, whose values must not be in the log. */
  readonly sent: () => Iterable<readonly [string, string]>;
}

/** @param isMetadata Whether the request was for metadata, whose address the application has set. */
export async function checkAnswer(answer: ProviderAnswer, isMetadata: boolean): Promise<void> {
  const { response } = answer;
  const oauthError = await readOAuthError(response);
  if (response.ok && oauthError === undefined) {
    // A userinfo response may be signed (OpenID Connect Core 1.0, section 5.3.2).
    const isJwt = /\bjwt\b/i.test(response.headers.get("content-type") ?? "");
    return assertReadable(answer, isJwt || parseJson(response.peek()) instanceof Object);
  }
  const error = failed(answer, oauthError);
  if (isRedirect(response) ? !isMetadata : isUnavailableAnswer(response.status, oauthError?.error)) throw error;
  throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", error.message, { cause: error.cause });
}

/**
 * The answer of a token endpoint, with an error brought into the form of RFC 6749 section 5.2. Core can name only that
 * one: it knows no other status or member, and reads no body if there is a `WWW-Authenticate` header.
 * @param isCode Whether a code is exchanged. What a refresh makes of a failure is in `refresh_tokens.ts`.
 * @param conforms Whether `token.conform` makes another response of this one.
 */
export async function tokenAnswer(answer: ProviderAnswer, isCode: boolean, conforms: boolean): Promise<Response> {
  const { provider, response, sent } = answer;
  const { status, ok, headers } = response;
  const oauthError = await readOAuthError(response);
  if (isCode && !ok && isUnavailableAnswer(status, oauthError?.error)) throw failed(answer, oauthError);
  const refused = status >= 400 && status < 500;
  if (oauthError !== undefined) {
    const { error = String(status), ...rest } = toLoggable(oauthError, sent());
    const cause: ProviderError = { provider, status, error, ...rest };
    // For Microsoft's providers, core makes these members the options of an `Error`, which keeps only `cause`.
    return jsonResponse({ error, ...rest, cause }, refused ? status : 400);
  }
  if (isRedirect(response)) throw failed(answer);
  if (refused) {
    // A page, for example a firewall's, of which core would report only that it is not JSON.
    const challenge = headers.get("www-authenticate");
    return jsonResponse({}, status, challenge === null ? {} : { "www-authenticate": challenge });
  }
  const text = response.peek();
  const body = parseJsonObject(text);
  // Before `token.conform` it may be in a form of the provider's own, but no page and no first part of some JSON.
  const mayConform = conforms && (!/^\s*(?:[<{[]|$)/.test(text) || parseJson(text) !== undefined);
  if (ok) assertReadable(answer, mayConform || body !== undefined);
  // So some servers say that there is no refresh token, which oauth4webapi takes for a wrong one. There may be no
  // scopes.
  const isNone = ([name, value]: [string, unknown]) => value === null || (value === "" && name !== "scope");
  if (!ok || body === undefined || !Object.entries(body).some(isNone)) return response;
  const members = Object.entries(body).filter((member) => !isNone(member));
  return new BufferedResponse(JSON.stringify(Object.fromEntries(members)), { status, headers });
}

function jsonResponse(data: object, status: number, headers: Record<string, string> = {}): BufferedResponse {
  const init = { status, headers: { "content-type": "application/json", ...headers } };
  return new BufferedResponse(JSON.stringify(data), init);
}

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

/** The answer is not what was asked for, such as the page of a proxy. */
function assertReadable({ provider, response, href }: ProviderAnswer, isReadable: boolean): void {
  if (isReadable) return;
  const { status, headers } = response;
  const type = toLogText(headers.get("content-type")) ?? "no content type";
  const message = `"${provider}" answered ${status} at ${href} without a JSON object (${type}).`;
  throw new ProviderUnavailable(provider, message, { provider, status } satisfies ProviderError);
}

function failed({ provider, response, href, sent }: ProviderAnswer, error: OAuthError = {}) {
  const { status, headers } = response;
  const cause: ProviderError = { provider, status, ...toLoggable(error, sent()) };
  const details = [cause.error, cause.error_description].filter((part) => part !== undefined).join(", ");
  const location = toLogText(headers.get("location"));
  const redirect = location === undefined ? "" : ` Its redirect to ${redactUrl(location)} is not followed.`;
  const message = `"${provider}" answered ${status} at ${href}${details && ` (${details})`}.${redirect}`;
  return new ProviderUnavailable(provider, message, cause);
}
