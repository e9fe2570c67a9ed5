/**
 * The demo on a free port with data of its own, and a visitor who walks through it without a browser.
 *
 * @module
 */
import { formIn } from "./client.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildDemo, type DemoOptions, originsOf } from "../../examples/demo/app.ts";

/** A running demo. Its data stay when it is closed. */
export interface RunningDemo extends AsyncDisposable {
  readonly origin: string;
  readonly issuer: string;
  readonly dataDir: string;
}

/** Starts the demo on a free port. */
export async function startDemo(
  dataDir: string,
  databaseUrl?: string,
  options: Pick<DemoOptions, "trustedOrigins"> = {},
): Promise<RunningDemo> {
  const { app, issuer } = await buildDemo({ dataDir, databaseUrl, ...options });
  await app.listen({ port: 0, host: "localhost" });
  return { origin: originsOf(app)[0], issuer, dataDir, [Symbol.asyncDispose]: () => app.close() };
}

/** Gives a folder that is there for as long as `use` runs. */
export async function withDataDir(use: (dataDir: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "authjs-demo-"));
  try {
    await use(join(folder, "data"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Gives a running demo, with a database of its own, for as long as `use` runs. */
export async function withDemo(
  use: (demo: RunningDemo) => Promise<void>,
  options: Pick<DemoOptions, "trustedOrigins"> = {},
): Promise<void> {
  await withDataDir(async (dataDir) => {
    await using demo = await startDemo(dataDir, undefined, options);
    await use(demo);
  });
}

/** Where a visitor got to. */
export interface Visited {
  readonly status: number;
  readonly url: URL;
  readonly text: string;
}

type Form = Record<string, string>;

/** A browser: it keeps cookies and follows redirects, over real sockets. */
export class Visitor {
  /** By host name, without the port: that is how far a cookie reaches. */
  readonly #cookies = new Map<string, Map<string, string>>();

  /** @param accept What it asks for: a page, as browsers do, or `application/json`. */
  constructor(private readonly accept: string = "text/html") {}

  /** The same visitor, running a program. */
  asProgram(): Visitor {
    const program = new Visitor("application/json");
    for (const [host, jar] of this.#cookies) program.#cookies.set(host, jar);
    return program;
  }

  /** Opens a page. */
  get(url: string | URL): Promise<Visited> {
    return this.#go("GET", new URL(url));
  }

  /** Sends a form. */
  post(url: string | URL, form: Form = {}): Promise<Visited> {
    return this.#go("POST", new URL(url), form);
  }

  /** Deletes what is there. */
  delete(url: string | URL): Promise<Visited> {
    return this.#go("DELETE", new URL(url));
  }

  /** Sends a form to the plugin, with the CSRF token that the page's script would put in. */
  async submit(url: string | URL, form: Form = {}): Promise<Visited> {
    const { text } = await this.get(new URL("/auth/csrf", url));
    const { csrfToken } = JSON.parse(text) as { csrfToken: string };
    return await this.post(url, { csrfToken, ...form });
  }

  /** Opens a mailed link, and sends the form of its page. */
  async confirm(link: string | URL): Promise<Visited> {
    const page = await this.get(link);
    const { action, fields } = formIn(page.text);
    return await this.post(new URL(action, page.url), fields);
  }

  async #go(method: string, url: URL, form?: Form): Promise<Visited> {
    const jar = this.#jarOf(url);
    const response = await fetch(url, {
      method,
      redirect: "manual",
      headers: {
        accept: this.accept,
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; "),
      },
      ...(form && { body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) keep(jar, cookie);
    const text = await response.text();
    // Not now.
    if (url.searchParams.get("offer") === "passkey" && response.status === 200) {
      return await this.#go("GET", new URL(url.searchParams.get("callbackUrl")!, url));
    }
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || !location) {
      return { status: response.status, url, text };
    }
    return await this.#go("GET", new URL(location, url));
  }

  #jarOf({ hostname }: URL): Map<string, string> {
    const jar = this.#cookies.get(hostname) ?? new Map<string, string>();
    this.#cookies.set(hostname, jar);
    return jar;
  }
}

function keep(jar: Map<string, string>, cookie: string): void {
  const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
  const expires = /;\s*expires=([^;]+)/i.exec(cookie)?.[1];
  const gone = /;\s*max-age=0(?:;|$)/i.test(cookie) || (expires && Date.parse(expires) < Date.now());
  if (gone) jar.delete(name);
  else jar.set(name, value);
}
