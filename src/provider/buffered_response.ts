/** A response whose body has been read, and which is copied without its stream. */
const UTF_8 = new TextDecoder();

/** A body that is held in memory. */
type HeldBody = Uint8Array<ArrayBuffer> | string | null;

/**
 * A response with a body in memory, for core and providers that copy responses to look at them before they are
 * read. `Response.clone()` of Node 20 shares a stream between the two: when the copy is garbage-collected, the body
 * of the original is cancelled, and reading it fails with "body has been used already".
 */
export class BufferedResponse extends Response {
  readonly #body: HeldBody;
  #isRead = false;

  constructor(body: HeldBody, init?: ResponseInit) {
    super(body, init);
    this.#body = body;
  }

  /** @throws {TypeError} if the body has been read, as every response does. */
  override clone(): BufferedResponse {
    this.#assertUnread();
    const { status, statusText, headers } = this;
    return new BufferedResponse(this.#body, { status, statusText, headers });
  }

  override get bodyUsed(): boolean {
    return this.#isRead || super.bodyUsed;
  }

  /** As `Response.text()`, without the stream that every other reader needs. */
  // deno-lint-ignore require-await -- an error is a rejection
  override async text(): Promise<string> {
    this.#assertUnread();
    this.#isRead = this.#body !== null;
    return this.peek();
  }

  override async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  /** The body as text, which can be read all the same. */
  peek(): string {
    return typeof this.#body === "string" ? this.#body : UTF_8.decode(this.#body ?? undefined);
  }

  static override json(data: unknown, init: ResponseInit = {}): BufferedResponse {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new BufferedResponse(JSON.stringify(data), { ...init, headers });
  }

  #assertUnread(): void {
    if (this.bodyUsed) throw new TypeError("The body of the response has been read already.");
  }
}
