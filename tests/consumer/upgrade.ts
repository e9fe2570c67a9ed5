/**
 * Runs an earlier build and this one side by side: what users hold when an application is upgraded has to go on
 * working, whichever of the two answers.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { findTarball, install, makeProject } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";

/** The build that is upgraded from. */
export const EARLIER = "61cba64";

const ORIGIN = "http://127.0.0.1:1";
const root = fileURLToPath(new URL("../../", import.meta.url));

/** Builds the package of an earlier commit, and gives the path of its tarball. */
export async function buildEarlier(work: string): Promise<string> {
  const checkout = join(work, EARLIER);
  try {
    await run("git", ["cat-file", "-e", `${EARLIER}^{commit}`], { cwd: root });
  } catch {
    throw new Error(
      `This clone does not have ${EARLIER}, the build that is upgraded from: git fetch --unshallow`,
    );
  }
  await run("git", ["clone", "--quiet", "--no-checkout", root, checkout], { cwd: work });
  await run("git", ["checkout", "--quiet", EARLIER], { cwd: checkout });
  await run(process.execPath, ["task", "build:npm"], { cwd: checkout });
  return await findTarball(join(checkout, "dist"));
}

/** What both builds share: the tables of a database, and what was mailed. */
async function startBackend() {
  const adapter = memoryAdapter() as unknown as Record<string, (...args: unknown[]) => unknown>;
  const mails: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    const given = JSON.parse(body, revive);
    const method = /^\/adapter\/(\w+)$/.exec(request.url!)?.[1];
    const answer = method === undefined ? mails.push(given.url) : await adapter[method]!(...given);
    response.end(JSON.stringify(answer ?? null));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, mails, close };
}

function revive(_key: string, value: unknown): unknown {
  return typeof value === "string" && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? new Date(value) : value;
}

/** An app of one build. */
interface Build {
  readonly url: string;
  stop(): Promise<void>;
}

async function startBuild(node: string, project: string, env: Record<string, string>): Promise<Build> {
  const child = spawn(node, ["upgrade.mjs"], {
    cwd: project,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const { value } = await Promise.race([lines.next(), exited.then(() => ({ value: undefined }))]);
  if (!value) throw new Error(`The app in ${project} ended before it listened`);
  return {
    url: `http://127.0.0.1:${value}`,
    async stop() {
      child.kill();
      await exited;
    },
  };
}

interface Reply {
  readonly status: number;
  readonly location: string | null;
  readonly body: string;
}

/** A browser behind a load balancer: each request goes to the build that is named. */
class Browser {
  readonly #cookies = new Map<string, string>();

  async send(build: Build, path: string, init: RequestInit = {}): Promise<Reply> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const url = new URL(path, ORIGIN);
    const target = url.origin === ORIGIN ? new URL(url.pathname + url.search, build.url) : url;
    const response = await fetch(target, {
      ...init,
      headers: { ...init.headers as Record<string, string>, cookie },
      redirect: "manual",
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line)!;
      if (value === "" || /;\s*max-age=0/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return {
      status: response.status,
      location: response.headers.get("location"),
      body: await response.text(),
    };
  }

  async json(build: Build, path: string, init?: RequestInit): Promise<Record<string, unknown>> {
    return JSON.parse((await this.send(build, path, init)).body);
  }

  /** Posts a form with the CSRF token. */
  async submit(build: Build, path: string, fields: Record<string, string> = {}): Promise<Reply> {
    const [, mount] = path.split("/");
    const { csrfToken } = await this.json(build, `/${mount}/csrf`);
    const body = new URLSearchParams({ csrfToken: String(csrfToken), ...fields });
    return await this.send(build, path, { method: "POST", body });
  }

  /** Begins a sign-in at the provider, and gives the address of the callback. */
  async beginOpenId(build: Build): Promise<string> {
    let { location } = await this.submit(build, "/auth/signin/loopback");
    while (!location!.startsWith(`${ORIGIN}/auth/callback/`)) {
      const next = (await this.send(build, location!)).location;
      location = new URL(next!, location!).href;
    }
    return location!;
  }

  reader(build: Build, mount: "jwt" | "auth"): Promise<unknown> {
    return this.json(build, `/me/${mount}`).then(({ user }) => user);
  }
}

/** What is checked, by what a user of an upgraded application would see. */
type Check = (before: Build, after: Build, backend: { mails: string[] }) => Promise<void>;

function expect(actual: unknown, expected: unknown): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} instead of ${b}`);
}

const SIGN_IN = "/jwt/callback/credentials";

const CHECKS: Record<string, Check> = {
  async "a session cookie of either build is read by both"(before, after) {
    for (const build of [before, after]) {
      const browser = new Browser();
      await browser.submit(build, SIGN_IN, { username: "ada" });
      for (const each of [before, after, before]) expect(await browser.reader(each, "jwt"), "ada");
      expect((await browser.send(after, "/guarded")).status, 200);
    }
  },
  async "a session in a database goes on, and ends for both"(before, after) {
    for (const [first, second] of [[before, after], [after, before]] as const) {
      const browser = new Browser();
      await browser.send(first, await browser.beginOpenId(first));
      for (const each of [second, first]) expect(await browser.reader(each, "auth"), "alice@example.com");
      await browser.submit(second, "/auth/signout");
      for (const each of [first, second]) expect(await browser.reader(each, "auth"), null);
    }
  },
  async "a mail link of the earlier build signs in"(before, after, { mails }) {
    const browser = new Browser();
    await browser.submit(before, "/auth/signin/mail", { email: "ada@example.com" });
    const link = new URL(mails.at(-1)!);
    const shown = await browser.send(after, link.href);
    // A link is confirmed by a form, which the page submits
    const fields = [...shown.body.matchAll(/name="(\w+)" value="([^"]*)"/g)].map((
      [, name, value],
    ) => [name!, value!]);
    const { status } = await browser.submit(after, link.pathname + link.search, Object.fromEntries(fields));
    expect([status, await browser.reader(after, "auth")], [302, "ada@example.com"]);
    expect(await browser.reader(before, "auth"), "ada@example.com");
  },
  async "a bearer token of the earlier build has to be issued again"(before, after) {
    const browser = new Browser();
    await browser.submit(before, SIGN_IN, { username: "ada" });
    const read = async (issuedBy: Build, build: Build) => {
      const body = JSON.parse((await browser.submit(issuedBy, "/jwt/token")).body);
      return new Browser().json(build, "/me/jwt", {
        headers: { authorization: `Bearer ${body.access_token}` },
      });
    };
    expect(await read(before, before), { user: "ada" });
    expect(await read(before, after), { user: null });
    expect(await read(after, after), { user: "ada" });
  },
  async "what the earlier build has revoked neither accepts, and what this one has revoked it refuses"(
    before,
    after,
  ) {
    for (const first of [before, after]) {
      for (const [second, refusing] of [[before, [before, after]], [after, [after]]] as const) {
        const browser = new Browser();
        await browser.submit(first, SIGN_IN, { username: "grace" });
        expect(await browser.reader(second, "jwt"), "grace");
        expect((await browser.send(second, "/revoke/id-grace", { method: "POST" })).status, 200);
        for (const each of refusing) expect(await browser.reader(each, "jwt"), null);
      }
    }
  },
};

/**
 * Runs all checks.
 *
 * @param node The path of a Node.
 * @param work A directory for what is built and installed.
 * @param tarball This build.
 * @param issuer The OpenID Provider that both builds sign in with.
 */
export async function checkUpgrade(
  node: string,
  work: string,
  tarball: string,
  issuer: string,
): Promise<Result> {
  const redis = process.env.TEST_REDIS_URL;
  if (redis === undefined && process.env.CI) {
    throw new Error("TEST_REDIS_URL names no server, which CI needs");
  }
  if (redis === undefined) return { passed: 0, failed: [], note: "not run: TEST_REDIS_URL is not set" };
  const projects = await Promise.all(
    Object.entries({ earlier: await buildEarlier(work), now: tarball }).map(async ([name, build]) => {
      const project = await makeProject(join(work, `upgrade-${name}`));
      await install(project, ["fastify@5", "redis@5", build]);
      return project;
    }),
  );
  const backend = await startBackend();
  const env = { BACKEND: backend.url, ISSUER: issuer, ORIGIN, REDIS_URL: redis };
  const builds = await Promise.all(projects.map((project) => startBuild(node, project, env)));
  const result: Result = { passed: 0, failed: [] };
  try {
    for (const [name, check] of Object.entries(CHECKS)) {
      try {
        await check(builds[0]!, builds[1]!, backend);
        result.passed++;
      } catch (error) {
        result.failed.push(`${name}: ${error}`);
      }
    }
  } finally {
    await Promise.all([...builds.map((build) => build.stop()), backend.close()]);
  }
  return result;
}
