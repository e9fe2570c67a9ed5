/** A user of the soak test: what a browser does, and what must come of it. */
import { randomBytes } from "node:crypto";
import { type Answer, type Balancer, Jar } from "./client.ts";
import type { Provider } from "./provider.ts";

/** The two kinds of sessions: in cookies, and in the database. */
type Mount = "" | "/staff";

/** Whether the user has a session; "unknown" after a fault or a broken-off request. */
type State = "in" | "out" | "unknown";

/** Names of the cookies with sessions. */
const SESSION_COOKIES = { "": "authjs.session-token", "/staff": "staff.session-token" } as const;

/** How often each action is chosen, beside the others. */
const WEIGHTS: readonly (readonly [name: Action, weight: number])[] = [
  ["read", 34],
  ["read over HTTP", 10],
  ["guard", 14],
  ["access token", 6],
  ["update", 4],
  ["many requests at once", 4],
  ["page", 5],
  ["forged cookie", 9],
  ["abort", 6],
  ["wrong password", 1],
  ["sign-out", 3],
];

type Action =
  | "read"
  | "read over HTTP"
  | "guard"
  | "access token"
  | "update"
  | "many requests at once"
  | "page"
  | "forged cookie"
  | "abort"
  | "wrong password"
  | "sign-out";

const TOTAL = WEIGHTS.reduce((sum, [, weight]) => sum + weight, 0);

function chooseAction(): Action {
  let left = Math.random() * TOTAL;
  for (const [name, weight] of WEIGHTS) {
    left -= weight;
    if (left < 0) return name;
  }
  return "read";
}

/** How many requests of one user are sent at once, beside an update and the use of an access token. */
const READS_AT_ONCE = 5;

/** One user, who does one thing at a time. */
export class User {
  readonly name: string;
  readonly email: string;
  readonly #jar: Jar;
  readonly #states: Record<Mount, State> = { "": "out", "/staff": "out" };
  /** How the session in a cookie began: only one of the provider has access tokens. */
  #hasAccessToken = false;
  /** What the latest update of the session in a cookie has set: sent, and known to have succeeded. */
  #edition = { sent: 0, known: 0 };
  readonly #balancer: Balancer;
  readonly #provider: Provider;
  readonly #usesMail: boolean;

  constructor(index: number, balancer: Balancer, provider: Provider) {
    this.name = `u${index}`;
    this.email = `${this.name}@users.test`;
    this.#jar = new Jar(`10.${index >> 16 & 255}.${index >> 8 & 255}.${index & 255}`);
    this.#usesMail = index % 2 === 1;
    this.#balancer = balancer;
    this.#provider = provider;
  }

  get #tally() {
    return this.#balancer.tally;
  }

  /** Does one thing. */
  async act(): Promise<void> {
    const mount: Mount = Math.random() < 0.6 ? "" : "/staff";
    const state = this.#states[mount];
    if (state === "out" && Math.random() < 0.5) return await this.#signIn(mount);
    const action = chooseAction();
    this.#count(action);
    switch (action) {
      case "read":
        return this.#compare(mount, await this.#send(`${mount}/me`));
      case "read over HTTP":
        return this.#compare(mount, await this.#send(`${mount}/auth/session`));
      case "guard":
        return await this.#passGuard(mount);
      case "access token":
        return await this.#useAccessToken();
      case "update":
        return await this.#update(mount);
      case "many requests at once":
        return await this.#sendMany();
      case "page":
        return await this.#openPage(mount);
      case "forged cookie":
        return await this.#forge(mount);
      case "abort":
        return await this.#abort(mount);
      case "wrong password":
        return await this.#mistype();
      case "sign-out":
        return await this.#signOut(mount);
    }
  }

  #count(action: string): void {
    this.#tally.add(this.#tally.actions, action);
  }

  async #send(path: string, sent?: Parameters<Balancer["send"]>[2]): Promise<Answer & { edition: number }> {
    const { known } = this.#edition;
    return { ...await this.#balancer.send(this.#jar, path, sent), edition: known };
  }

  /** Compares whose session a read gave. */
  #compare(
    mount: Mount,
    { status, body, isExplained, edition }: Answer & { edition: number },
    expected: State = this.#states[mount],
  ): void {
    if (status !== 200) {
      return this.#expect(isExplained && status === 503 || status === 0, `a read: ${status}`);
    }
    const answer = JSON.parse(body);
    const session = answer !== null && "session" in answer ? answer.session : answer;
    this.#tally.compared++;
    const email = session?.user?.email;
    if (session !== null && email !== this.email) {
      return this.#tally.find("another user's session", `${this.email} got ${JSON.stringify(session)}`);
    }
    const found = session?.user?.edition ?? 0;
    if (mount === "" && email !== undefined && found < edition) {
      this.#tally.find("an update was lost", `${this.email} got ${found} after ${edition}`);
    }
    if (expected === "unknown") {
      // While the store of sessions fails, null does not mean that there is none
      if (!isExplained || email !== undefined) this.#states[mount] = email === undefined ? "out" : "in";
    } else if (expected === "in" && email === undefined && !isExplained) {
      this.#tally.find("a session was lost", `${this.email} at "${mount}"`);
      this.#states[mount] = "out";
    } else if (expected === "out" && email !== undefined) {
      this.#tally.find("a session came back", `${this.email} at "${mount}"`);
    }
  }

  #expect(holds: boolean, what: string): void {
    if (!holds) this.#tally.find("an unexpected answer", `${this.email}: ${what}`);
  }

  async #passGuard(mount: Mount): Promise<void> {
    const state = this.#states[mount];
    const answer = await this.#send(`${mount}/guarded`, { headers: { accept: "application/json" } });
    if (answer.status === 200) return this.#compare(mount, answer, state === "out" ? "out" : state);
    if (answer.isExplained && answer.status === 503 || answer.status === 0) return;
    if (answer.status === 401 && state === "unknown") return void (this.#states[mount] = "out");
    if (answer.status === 401 && state === "in") {
      return this.#tally.find("a session was lost", `${this.email} at the guard of "${mount}"`);
    }
    this.#expect(answer.status === 401, `a guard: ${answer.status} ${answer.body.slice(0, 100)}`);
  }

  async #useAccessToken(): Promise<void> {
    if (this.#states[""] !== "in" || !this.#hasAccessToken) return this.#compare("", await this.#send("/me"));
    const { status, body, isExplained } = await this.#send("/access");
    if (status === 200) {
      const { token } = JSON.parse(body);
      if (token === null) return this.#expect(false, "no access token");
      const owner = this.#provider.ownerOf(token);
      this.#tally.compared++;
      if (owner !== this.name) {
        this.#tally.find("another user's access token", `${this.name} got that of ${owner}`);
      }
      return;
    }
    // The refresh token was used by an answer that did not arrive, or by two processes without their lock
    if (isExplained) {
      this.#states[""] = "unknown";
      this.#hasAccessToken = false;
      return this.#expect([0, 401, 503].includes(status), `an access token: ${status} ${body.slice(0, 100)}`);
    }
    this.#expect(false, `an access token: ${status} ${body.slice(0, 100)}`);
  }

  async #csrfToken(mount: Mount): Promise<string | undefined> {
    const { status, body } = await this.#send(`${mount}/auth/csrf`);
    return status === 200 ? JSON.parse(body).csrfToken : undefined;
  }

  async #update(mount: Mount): Promise<void> {
    if (mount === "/staff" || this.#states[mount] !== "in") {
      return this.#compare(mount, await this.#send(`${mount}/me`));
    }
    const csrfToken = await this.#csrfToken(mount);
    if (csrfToken === undefined) return;
    const edition = ++this.#edition.sent;
    const answer = await this.#send(`${mount}/auth/session`, { json: { csrfToken, data: { edition } } });
    if (answer.status !== 200) return this.#compare(mount, answer);
    this.#tally.updated++;
    this.#edition.known = answer.storeAnswers ? edition : 0;
    this.#compare(mount, { ...answer, edition: this.#edition.known });
  }

  /** Several requests at once, as of a page with many parts: they reach all processes, and may refresh the session. */
  async #sendMany(): Promise<void> {
    const before = this.#tally.windowAt(Date.now());
    const read = async () => this.#compare("", await this.#send("/me"));
    await Promise.all([
      ...Array.from({ length: READS_AT_ONCE }, read),
      this.#useAccessToken(),
      this.#update(""),
    ]);
    const { storeAnswers } = this.#tally.windowAt(Date.now()) ?? before ?? { storeAnswers: true };
    if (!storeAnswers) this.#edition.known = 0;
    await read();
  }

  async #openPage(mount: Mount): Promise<void> {
    const page = [
      "signin",
      "providers",
      "error?error=Configuration",
      "signout",
      "nowhere",
    ][Math.floor(Math.random() * 5)];
    const { status, body, isExplained } = await this.#send(`${mount}/auth/${page}`);
    const expected = page === "nowhere" ? [404] : page!.startsWith("error") ? [200, 500] : [200, 302];
    if (page!.startsWith("error")) return;
    this.#expect(
      expected.includes(status) || isExplained && [0, 503].includes(status),
      `${page}: ${status} ${body.slice(0, 80)}`,
    );
  }

  /** Sends cookies that no process has issued. */
  async #forge(mount: Mount): Promise<void> {
    const name = SESSION_COOKIES[mount];
    const own = this.#jar.cookies.get(name);
    const value = own !== undefined && own.length > 100 && Math.random() < 0.5
      // One character of a valid one is another: not the last, whose low bits do not count
      ? own.slice(0, 80) + (own[80] === "A" ? "B" : "A") + own.slice(81)
      : mount === ""
      ? `eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIn0..${randomBytes(120).toString("base64url")}`
      : crypto.randomUUID();
    const path = Math.random() < 0.5 ? "/guarded" : "/me";
    const { status, body, isExplained } = await this.#send(`${mount}${path}`, {
      cookie: `${name}=${value}`,
      headers: { accept: "application/json" },
    });
    if (isExplained && status === 503 || status === 0) return;
    const accepted = status === 200 && JSON.parse(body).session !== null;
    if (accepted) this.#tally.find("a forged cookie was accepted", `${mount}${path}`);
    else this.#expect(path === "/me" ? status === 200 : status === 401, `a forged cookie: ${status}`);
  }

  async #abort(mount: Mount): Promise<void> {
    const inBody = Math.random() < 0.4;
    const path = inBody
      ? "/auth/signout"
      : ["/me", "/auth/session", "/guarded", "/auth/signin"][Math.floor(Math.random() * 4)];
    await this.#balancer.abort(this.#jar, `${mount}${path}`, inBody).catch((error) =>
      this.#expect(this.#tally.windowAt(Date.now()) !== undefined, `an abort: ${error}`)
    );
  }

  async #mistype(): Promise<void> {
    const csrfToken = await this.#csrfToken("");
    if (csrfToken === undefined) return;
    const before = this.#jar.cookies.get(SESSION_COOKIES[""]);
    const form = { csrfToken, username: `${this.name}-other`, password: "wrong" };
    const { status, location, isExplained } = await this.#send("/auth/callback/credentials", { form });
    this.#expect(
      status === 302 && location.includes("error=CredentialsSignin") || status === 429 ||
        isExplained && [0, 503].includes(status),
      `a wrong password: ${status} ${location}`,
    );
    this.#expect(
      this.#jar.cookies.get(SESSION_COOKIES[""]) === before,
      "a wrong password changed the session",
    );
  }

  async #signOut(mount: Mount): Promise<void> {
    if (this.#states[mount] === "out") return this.#compare(mount, await this.#send(`${mount}/me`));
    const csrfToken = await this.#csrfToken(mount);
    if (csrfToken === undefined) return;
    const copy = `${SESSION_COOKIES[mount]}=${this.#jar.cookies.get(SESSION_COOKIES[mount]) ?? ""}`;
    const read = async () => this.#compare(mount, await this.#send(`${mount}/me`), "unknown");
    const [{ status, isExplained }] = await Promise.all([
      this.#send(`${mount}/auth/signout`, { form: { csrfToken } }),
      read(),
      read(),
    ]);
    this.#expect(status === 302 || isExplained, `a sign-out: ${status}`);
    // Removed from the browser, whatever became of the record
    this.#states[mount] = this.#jar.cookies.has(SESSION_COOKIES[mount]) ? "unknown" : "out";
    if (mount === "") this.#hasAccessToken = false;
    if (status !== 302 || isExplained) return;
    // A reply under way may have set the cookie again, but the session has ended.
    this.#states[mount] = "out";
    this.#compare(mount, await this.#send(`${mount}/me`));
    // A copy of the cookie, as a thief would have it
    const answer = await this.#send(`${mount}/me`, { cookie: copy });
    if (answer.status === 200 && JSON.parse(answer.body).session !== null) {
      this.#tally.find("a session came back", `${this.email} at "${mount}", with a copy of the cookie`);
    }
  }

  async #signIn(mount: Mount): Promise<void> {
    const how = mount === "/staff" && this.#usesMail
      ? "mail"
      : mount === "" && Math.random() < 0.5
      ? "password"
      : "provider";
    this.#count(`sign-in (${how})`);
    if (mount === "") this.#edition = { sent: 0, known: 0 };
    const begun = Date.now();
    const outcome = how === "mail"
      ? await this.#signInByMail()
      : how === "password"
      ? await this.#signInByPassword()
      : await this.#signInByProvider(mount);
    const isExplained = this.#tally.windowAt(begun) !== undefined;
    const hasCookie = this.#jar.cookies.has(SESSION_COOKIES[mount]);
    this.#expect(hasCookie || isExplained, `a sign-in (${how}) at "${mount}": ${outcome}`);
    this.#states[mount] = hasCookie ? isExplained ? "unknown" : "in" : "out";
    if (mount === "") this.#hasAccessToken = hasCookie && how === "provider";
  }

  /** Says how it ended. */
  async #signInByPassword(): Promise<string> {
    const csrfToken = await this.#csrfToken("");
    if (csrfToken === undefined) return "no CSRF token";
    const form = { csrfToken, username: this.name, password: "open" };
    return shown(await this.#send("/auth/callback/credentials", { form }));
  }

  async #signInByProvider(mount: Mount): Promise<string> {
    const csrfToken = await this.#csrfToken(mount);
    if (csrfToken === undefined) return "no CSRF token";
    const start = await this.#send(`${mount}/auth/signin/issuer`, { form: { csrfToken } });
    if (!start.location.startsWith(this.#provider.url)) return shown(start);
    const { name, email } = this;
    const back = new URL(await this.#provider.authorize(start.location, { sub: name, name, email }));
    return shown(await this.#send(back.pathname + back.search));
  }

  async #signInByMail(): Promise<string> {
    const csrfToken = await this.#csrfToken("/staff");
    if (csrfToken === undefined) return "no CSRF token";
    const asked = await this.#send("/staff/auth/signin/mail", { form: { csrfToken, email: this.email } });
    const link = this.#provider.takeMail(this.email);
    if (link === undefined) return `no mail: ${shown(asked)}`;
    const { pathname, search } = new URL(link);
    const page = await this.#send(pathname + search);
    const { action, fields } = formIn(page.body);
    if (action === "") return shown(page);
    return shown(await this.#send(action, { form: fields }));
  }
}

const shown = ({ status, location, body }: Answer) => `${status} ${location} ${body.slice(0, 100)}`;

/** The address and the hidden fields of the form of a page. */
function formIn(html: string): { action: string; fields: Record<string, string> } {
  const [, action = ""] = /<form[^>]*\saction="([^"]*)"/.exec(html) ?? [];
  const inputs = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  const fields = [...inputs].map(([, name = "", value = ""]) => [name, unescape(value)]);
  const url = URL.canParse(unescape(action)) ? new URL(unescape(action)) : undefined;
  return { action: url ? url.pathname + url.search : unescape(action), fields: Object.fromEntries(fields) };
}

function unescape(text: string): string {
  const characters: Record<string, string> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (_entity, name) => characters[name]!);
}
