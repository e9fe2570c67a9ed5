/**
 * Two processes, browsers that send requests to them, and what each browser may expect.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { FastifyInstance } from "fastify";
import { type Answer, Client, setCookies } from "../support/client.ts";
import type { Clock } from "../support/clock.ts";
import type { Gates } from "./gates.ts";
import { ModelSession, type Seen } from "./model.ts";
import type { Variant } from "./processes.ts";
import type { RotatingProvider } from "./provider.ts";

/** What is asked for. */
export type Ask =
  | { readonly do: "sign in"; readonly user: string; readonly finish: number; readonly remember?: boolean }
  | { readonly do: "read" | "renew" | "sign out" | "revoke all" }
  | { readonly do: "update"; readonly field: string }
  | { readonly do: "revoke"; readonly finish: number };

/** A browser, and the session that it should have. */
interface Browser {
  cookies: Map<string, string>;
  session: ModelSession | undefined;
  /** Its requests under way. */
  readonly asked: Set<Ask>;
}

/** The world that the commands act on. */
export class World {
  readonly browsers: readonly Browser[] = [0, 1].map(() => ({
    cookies: new Map(),
    session: undefined,
    asked: new Set(),
  }));
  /** All that were begun, and cookies that they had. */
  readonly #sessions = new Map<ModelSession, Map<string, string>[]>();
  readonly #revocations: { readonly user: string; answered: number }[] = [];
  readonly #ids: ReadonlyMap<string, string>;
  #failure: { error: unknown } | undefined;
  #time = 0;
  #signIns = 0;

  constructor(
    readonly variant: Variant,
    readonly apps: readonly FastifyInstance[],
    ids: ReadonlyMap<string, string>,
    readonly gates: Gates,
    readonly clock: Clock,
    readonly provider: RotatingProvider,
  ) {
    this.#ids = ids;
  }

  /** Begins with a user who is signed in in two browsers. */
  async signIn(): Promise<void> {
    await this.gates.past(async () => {
      for (const browser of this.browsers) {
        await this.#do({ do: "sign in", user: "ada", finish: 0 }, browser, 0);
      }
    });
  }

  /** Sends a request, which is answered when the gates that it comes to were opened. */
  start(asked: Ask, index: number, process: number): void {
    let ask = { ...asked };
    this.clock.now++;
    const browser = this.browsers[index]!;
    const { session } = browser;
    // Nothing would be left to do
    if (browser.asked.size === 0 && (session === undefined || this.#isOver(session))) {
      ask = { do: "sign in", user: session?.user ?? "ada", finish: process };
    }
    // It has no tokens of the plugin, and only a lock
    if (this.variant === "refreshed by the jwt callback") {
      if (ask.do === "renew") ask = { do: "read" };
      if (ask.do === "revoke" || ask.do === "revoke all") ask = { do: "sign out" };
    }
    browser.asked.add(ask);
    const work = async () => {
      await this.#do(ask, browser, process);
      browser.asked.delete(ask);
    };
    this.gates.run(`browser ${index}, process ${process}: ${JSON.stringify(ask)}`, work).catch((error) =>
      this.#failure ??= { error }
    );
  }

  /** Lets a request go on. */
  async open(which: number, gates: number): Promise<void> {
    await this.gates.open(which, gates);
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Lets all that is under way end, and reads every session in both processes. */
  async rest(): Promise<void> {
    for (let which = 0; this.gates.size > 0; which++) await this.open(which, Infinity);
    await this.gates.past(async () => {
      for (const browser of this.browsers) {
        for (const process of [0, 1, 0]) await this.#do({ do: "read" }, browser, process);
      }
    });
    assertEquals(this.provider.reused, [], "a refresh token was used twice");
  }

  /** Reads with all cookies of sessions that ended. */
  async replay(): Promise<void> {
    if (this.variant === "refreshed by the jwt callback") return;
    for (const [session, cookies] of this.#sessions) {
      if (session.ended === Infinity) continue;
      for (const [index, each] of cookies.entries()) {
        const answer = await clientOf(this.apps[index % 2]!, new Map(each)).get("/read");
        assertEquals(
          answer.json(),
          { session: null },
          "a copy of a cookie is of use after the end of its session",
        );
      }
    }
  }

  async #do(ask: Ask, browser: Browser, process: number): Promise<void> {
    const { session } = browser;
    const sent = ++this.#time;
    if (ask.do === "sign in") return await this.#signIn(ask, browser, process);
    return await this.#ask(ask, browser, process, session, sent);
  }

  async #ask(
    ask: Exclude<Ask, { do: "sign in" }>,
    browser: Browser,
    process: number,
    session: ModelSession | undefined,
    sent: number,
  ): Promise<void> {
    const client = clientOf(this.apps[process]!, browser.cookies);
    switch (ask.do) {
      case "read": {
        const answer = await this.#send(client, browser, session, "GET", "/read");
        const { session: seen } = answer.json<{ session: Seen | null }>();
        return session === undefined
          ? assertEquals(seen, null, "a session before any")
          : session.check(seen, sent, ++this.#time);
      }
      case "renew": {
        const answer = await this.#send(client, browser, session, "GET", "/access");
        const { token } = answer.json<{ token: string | null }>();
        if (token === null) return assert(session === undefined || this.#isOver(session), "tokens were lost");
        assert(session !== undefined && sent < session.ended, "tokens of a session that had ended");
        assertEquals(token.split(".")[0], session.user, "the tokens of another user");
        if (!this.#isOver(session)) assert(this.provider.accepts(token), "a token that has expired");
        return;
      }
      case "update": {
        if (session === undefined) return;
        const { field } = ask;
        const update = { field, value: sent, sent, answered: Infinity };
        session.updates.push(update);
        const answer = await this.#send(client, browser, session, "POST", "/update", { [field]: sent });
        if (answer.statusCode === 401) return assert(this.#isOver(session), "an update was refused");
        assert(sent < session.ended, "a session was updated after its end");
        update.answered = ++this.#time;
        return session.check(answer.json<Seen>(), sent, this.#time);
      }
      case "sign out":
        return await this.#end(
          session && [session],
          () => this.#send(client, browser, session, "POST", "/sign-out"),
        );
      case "revoke": {
        const listed = await this.#send(client, browser, session, "GET", "/sessions");
        if (session === undefined || listed.statusCode === 401) return;
        const own = listed.json<{ id: string; current: boolean }[]>().find(({ current }) => current);
        if (own === undefined) return assert(this.#isOver(session), "the own session is not listed");
        const other = clientOf(this.apps[ask.finish]!, new Map());
        return await this.#end([session], () => other.request("POST", "/revoke", { json: { id: own.id } }));
      }
      case "revoke all": {
        if (session === undefined) return;
        const { user } = session;
        const revocation = { user, answered: Infinity };
        this.#revocations.push(revocation);
        const ofUser = [...this.#sessions.keys()].filter((each) => each.user === user);
        const other = clientOf(this.apps[process]!, new Map());
        await this.#end(
          ofUser,
          () => other.request("POST", "/revoke-all", { json: { user: this.#ids.get(user) } }),
        );
        revocation.answered = ++this.#time;
      }
    }
  }

  async #signIn(ask: Ask & { do: "sign in" }, browser: Browser, process: number): Promise<void> {
    const sent = this.#time;
    const before = browser.session;
    // An account of another user would be linked.
    if (this.variant === "in a database" && before !== undefined && before.user !== ask.user) {
      browser.cookies = new Map();
      browser.session = undefined;
    }
    const replaced = browser.session;
    const { cookies, asked } = browser;
    const others = new Set(asked);
    const sid = String(++this.#signIns);
    let given = "";
    await this.#end(replaced && [replaced], async () => {
      const { remember } = ask;
      const begun = await clientOf(this.apps[process]!, cookies).request("POST", "/sign-in", { json: { remember } });
      const state = new URL(begun.json<{ url: string }>().url).searchParams.get("state")!;
      const query = new URLSearchParams({ code: `${ask.user}.${sid}`, state });
      const answer = await clientOf(this.apps[ask.finish]!, cookies).get(`/auth/callback/acme?${query}`);
      assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost"], answer.body);
      given = setCookies(answer).join().match(/authjs.session-token=([^;]+)/)?.[1] ?? "";
      return answer;
    });
    const session = new ModelSession(ask.user, this.variant === "in a database" ? given : sid);
    session.remembered = ask.remember;
    for (const each of asked) others.add(each);
    session.mayBeLost = others.size > 1;
    if (this.#revocations.some(({ user, answered }) => user === ask.user && answered > sent)) {
      session.ending = sent;
    }
    this.#sessions.set(session, [new Map(cookies)]);
    if (browser.cookies === cookies) browser.session = session;
  }

  /** Whether there may be no session any more. */
  #isOver(session: ModelSession): boolean {
    return session.mayBeLost || session.ending < Infinity;
  }

  /** Sends what ends sessions. A browser that has lost its session ends nothing. */
  async #end(sessions: readonly ModelSession[] | undefined, send: () => Promise<Answer>): Promise<void> {
    const sent = ++this.#time;
    for (const session of sessions ?? []) session.ending = Math.min(session.ending, sent);
    const answer = await send();
    assert(answer.statusCode < 400, answer.body);
    for (const session of sessions ?? []) {
      if (!session.mayBeLost) session.ended = Math.min(session.ended, ++this.#time);
    }
  }

  async #send(
    client: Client,
    browser: Browser,
    session: ModelSession | undefined,
    method: string,
    url: string,
    json?: object,
  ): Promise<Answer> {
    const answer = await client.request(method, url, json === undefined ? {} : { json });
    assert(answer.statusCode < 400 || answer.statusCode === 401, answer.body);
    // A browser that signed in meanwhile may have either session now
    if (session !== undefined && browser.session === session) {
      session.checkCookies(setCookies(answer));
      this.#sessions.get(session)!.push(new Map(client.cookies));
    }
    return answer;
  }
}

/** A browser's requests to a process. It has one set of cookies, whichever answers. */
function clientOf(app: FastifyInstance, cookies: Map<string, string>): Client {
  return Object.assign(new Client(app), { cookies });
}
