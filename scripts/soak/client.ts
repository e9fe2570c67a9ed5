/** Requests of the soak test's users, each to one of the processes. */
import type { AppProcess } from "./app_process.ts";
import type { Tally } from "./tally.ts";

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly location: string;
  readonly body: string;
  /** Whether a fault explains an answer that would be wrong otherwise. */
  readonly isExplained: boolean;
  /** Whether calls of the store were answered meanwhile. */
  readonly storeAnswers: boolean;
}

/** What is sent. */
interface Sent {
  readonly form?: Record<string, string>;
  readonly json?: unknown;
  readonly headers?: Record<string, string>;
  /** In place of the user's cookies. */
  readonly cookie?: string;
}

/** Longer than any time-out of the application. */
const ANSWER_TIMEOUT_MS = 30_000;

/** Sends requests to processes as a load balancer does, and counts. */
export class Balancer {
  readonly processes: AppProcess[];
  readonly tally: Tally;

  constructor(processes: AppProcess[], tally: Tally) {
    this.processes = processes;
    this.tally = tally;
  }

  choose(): AppProcess {
    const up = this.processes.filter(({ isUp, isStopping }) => isUp && !isStopping);
    const chosen = up[Math.floor(Math.random() * up.length)];
    if (chosen === undefined) throw new Error("No process of the application is left.");
    return chosen;
  }

  /** Sends a request, and again to another process if the first has ended. */
  async send(user: Jar, path: string, sent: Sent = {}): Promise<Answer> {
    const { tally } = this;
    for (let attempt = 0;; attempt++) {
      const chosen = this.choose();
      const from = Date.now();
      try {
        const answer = await this.#sendTo(chosen, user, path, sent);
        const window = tally.windowAt(from);
        tally.requests++;
        tally.add(tally.statuses, `${answer.status}`);
        if (window !== undefined) window.requests++;
        if (answer.status === 503 && window !== undefined) {
          window.unavailable++;
          window.lastUnavailable = Date.now();
        } else if (answer.status >= 500) {
          tally.find(
            "an unexplained 5xx",
            `${answer.status} ${path.split("?")[0]} ${answer.body.slice(0, 200)}`,
          );
        }
        return {
          ...answer,
          isExplained: window !== undefined,
          storeAnswers: window?.storeAnswers ?? true,
        };
      } catch (error) {
        if (!chosen.isUp && !chosen.isStopping) tally.find("a process failed", `at ${path.split("?")[0]}`);
        // It has ended, or closed the connection while the request was on its way
        if ((chosen.isStopping || !chosen.isUp) && attempt < 3) {
          tally.rerouted++;
          continue;
        }
        tally.requests++;
        tally.find("an unexpected answer", `${path.split("?")[0]}: ${error}`);
        return { status: 0, location: "", body: "", isExplained: true, storeAnswers: false };
      }
    }
  }

  async #sendTo(app: AppProcess, user: Jar, path: string, { form, json, headers, cookie }: Sent) {
    const body = form ? new URLSearchParams(form) : json === undefined ? undefined : JSON.stringify(json);
    const response = await fetch(`http://127.0.0.1:${app.port}${path}`, {
      method: body === undefined ? "GET" : "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      headers: {
        ...(typeof body === "string" && { "content-type": "application/json" }),
        ...headers,
        cookie: cookie ?? user.cookie,
        "x-forwarded-for": user.address,
      },
      ...(body !== undefined && { body }),
    });
    const text = await response.text();
    if (cookie === undefined) user.keep(response.headers.getSetCookie());
    return { status: response.status, location: response.headers.get("location") ?? "", body: text };
  }

  /** Sends a request and breaks it off: in its body, or before its answer. */
  async abort(user: Jar, path: string, inBody: boolean): Promise<void> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.choose().port });
    try {
      const lines = [
        `${inBody ? "POST" : "GET"} ${path} HTTP/1.1`,
        "host: app.test",
        `cookie: ${user.cookie}`,
        `x-forwarded-for: ${user.address}`,
        ...(inBody ? ["content-type: application/x-www-form-urlencoded", "content-length: 1000"] : []),
      ];
      await connection.write(
        new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${inBody ? "csrfToken=ab" : ""}`),
      );
      // At different stages of the request
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    } finally {
      connection.close();
      this.tally.aborted++;
      this.tally.requests++;
    }
  }
}

/** The cookies of a browser. */
export class Jar {
  readonly cookies: Map<string, string> = new Map();
  readonly address: string;

  constructor(address: string) {
    this.address = address;
  }

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  keep(lines: readonly string[]): void {
    for (const line of lines) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "" || /;\s*max-age=0/i.test(line)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
  }
}
