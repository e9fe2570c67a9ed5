/** A visitor of a deployment: sends requests as a browser would, and keeps cookies. */

/** A cookie of a reply, with its attributes in lower case. */
export interface SentCookie {
  readonly name: string;
  readonly value: string;
  readonly attributes: ReadonlyMap<string, string>;
}

/** A reply. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly cookies: readonly SentCookie[];
  readonly body: string;
  /** The body, where it is JSON. */
  readonly json: unknown;
  /** Whether the request had a password of HTTP. */
  readonly sentPassword: boolean;
}

/** What a request sends. */
export interface VisitOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields of a form, which is posted. */
  readonly form?: Readonly<Record<string, string>>;
}

/** The most characters of a body that are looked at. */
const BODY_LIMIT = 1_000_000;

/** Sends requests to a deployment. */
export class Visitor {
  readonly #timeout: number;
  readonly #authorization: string | undefined;
  readonly #cookies = new Map<string, string>();

  /**
   * @param timeout How long a request may take, in milliseconds.
   * @param authorization For a deployment behind a password of HTTP.
   */
  constructor(timeout: number, authorization: string | undefined) {
    this.#timeout = timeout;
    this.#authorization = authorization;
  }

  /** A visitor without cookies. */
  another(): Visitor {
    return new Visitor(this.#timeout, this.#authorization);
  }

  /** One without cookies and without the password, for addresses without TLS. */
  withoutPassword(): Visitor {
    return new Visitor(this.#timeout, undefined);
  }

  /** Requests a page, or posts a form. Redirects are not followed. */
  async visit(url: string, { headers = {}, form }: VisitOptions = {}): Promise<Reply> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      method: form === undefined ? "GET" : "POST",
      body: form === undefined ? null : new URLSearchParams(form),
      redirect: "manual",
      signal: AbortSignal.timeout(this.#timeout),
      headers: {
        accept: "application/json",
        ...(this.#authorization !== undefined && { authorization: this.#authorization }),
        ...(cookie !== "" && { cookie }),
        ...headers,
      },
    });
    const cookies = response.headers.getSetCookie().map(parseCookie);
    for (const { name, value } of cookies) this.#cookies.set(name, value);
    const body = (await response.text()).slice(0, BODY_LIMIT);
    const { status, headers: received } = response;
    const sentPassword = this.#authorization !== undefined;
    return { status, headers: received, cookies, body, json: parseJson(body), sentPassword };
  }
}

function parseCookie(line: string): SentCookie {
  const [pair = "", ...attributes] = line.split(";");
  const split = (text: string): [string, string] => {
    const [name = "", ...value] = text.split("=");
    return [name.trim(), value.join("=").trim()];
  };
  const [name, value] = split(pair);
  return {
    name,
    value,
    attributes: new Map(
      attributes.map(split).map(([name, value]) => [name.toLowerCase(), value.toLowerCase()]),
    ),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
