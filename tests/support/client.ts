/**
 * A browser of sorts over `app.inject`: it keeps cookies, and knows how a sign-in goes.
 *
 * @module
 */
import type { FastifyInstance } from "fastify";

type Headers = Record<string, string>;

/** What `app.inject` answers. */
export type Answer = Awaited<ReturnType<FastifyInstance["inject"]>>;

/** What a request carries besides its method and address. */
export interface RequestOptions {
  headers?: Headers;
  /** Sent as a form. */
  form?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  payload?: string;
}

/** One user's browser. */
export class Client {
  /** The cookies by name, as the server last set them. */
  readonly cookies: Map<string, string> = new Map();

  /**
   * @param app The application.
   * @param headers Sent with every request, such as `host` or `x-forwarded-proto`.
   * @param mount The mount path of the auth routes.
   */
  constructor(
    private readonly app: FastifyInstance,
    private readonly headers: Headers = {},
    private readonly mount: string = "/auth",
  ) {}

  /** The Cookie header, or none. */
  get cookie(): string | undefined {
    const pairs = [...this.cookies].map(([name, value]) => `${name}=${value}`);
    return pairs.length === 0 ? undefined : pairs.join("; ");
  }

  /** Sends one request and keeps the cookies of the answer. */
  async request(method: string, url: string, options: RequestOptions = {}): Promise<Answer> {
    const headers: Headers = { ...this.headers, ...options.headers };
    if (this.cookie !== undefined && headers.cookie === undefined) headers.cookie = this.cookie;
    let { payload } = options;
    if (options.form) {
      headers["content-type"] ??= "application/x-www-form-urlencoded";
      payload = new URLSearchParams(options.form).toString();
    } else if (options.json !== undefined) {
      headers["content-type"] ??= "application/json";
      payload = JSON.stringify(options.json);
    }
    const answer = await this.app.inject({
      method: method as "GET",
      url,
      headers,
      ...(payload !== undefined && { payload }),
    });
    this.keep(answer);
    return answer;
  }

  /** A GET. */
  get(url: string, options?: RequestOptions): Promise<Answer> {
    return this.request("GET", url, options);
  }

  /** A POST of a form. */
  post(url: string, form: Record<string, string>, headers?: Headers): Promise<Answer> {
    return this.request("POST", url, { form, ...(headers && { headers }) });
  }

  /** A fresh CSRF token, its cookie kept. */
  async csrfToken(): Promise<string> {
    const answer = await this.get(`${this.mount}/csrf`);
    return answer.json<{ csrfToken: string }>().csrfToken;
  }

  /** Signs in with the credentials provider. */
  async signIn(fields: Record<string, string>, provider = "credentials"): Promise<Answer> {
    const csrfToken = await this.csrfToken();
    return await this.post(`${this.mount}/callback/${provider}`, { csrfToken, ...fields });
  }

  /** Opens a mailed link, and sends the form of its page. A link that opens no page is only opened. */
  async confirm(link: string, options?: RequestOptions): Promise<Answer> {
    const page = await this.get(link, options);
    if (page.statusCode !== 200) return page;
    const { action, fields } = formIn(page);
    return await this.request("POST", action, { form: fields, ...options });
  }

  /** Signs out. */
  async signOut(): Promise<Answer> {
    return await this.post(`${this.mount}/signout`, { csrfToken: await this.csrfToken() });
  }

  private keep(answer: Answer): void {
    for (const cookie of setCookies(answer)) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "" || /;\s*max-age=0(?:;|$)/i.test(cookie)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}

/** The Set-Cookie lines of an answer. */
export function setCookies(answer: Answer): string[] {
  return [answer.headers["set-cookie"] ?? []].flat().map(String);
}

/** The address and the hidden fields of the form of a page, an answer or its HTML. */
export function formIn(page: Answer | string): { action: string; fields: Record<string, string> } {
  const body = typeof page === "string" ? page : page.body;
  const [, action = ""] = /<form[^>]*\saction="([^"]*)"/.exec(body) ?? [];
  const inputs = body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const fields = [...inputs].map(([, name = "", value = ""]) => [name, unescape(value)]);
  return { action: unescape(action), fields: Object.fromEntries(fields) };
}

function unescape(text: string): string {
  const characters: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_entity, name) => characters[name]!);
}
