import { assert, assertEquals } from "@std/assert";
import { encode as coreEncode, type JWT } from "@auth/core/jwt";
import { EncryptJWT } from "jose";
import { Buffer } from "node:buffer";
import { hkdfSync } from "node:crypto";
import type { FastifyAuthConfig } from "fastify-authjs";
import { readSessionCookie } from "../../../src/session/cookie.ts";
import { encode, open, UNKNOWN_KEY } from "../../../src/jwt/jwe.ts";
import { otherSalts } from "../../../src/session/settings.ts";
import { SECRET } from "../../support/app.ts";
import { withClock } from "../../support/clock.ts";
import {
  type ConfigMaker,
  endingAt,
  inSeconds,
  type Observed,
  SessionComparison,
} from "../../support/session_comparison.ts";
import { type Random, seededRandom } from "../../support/random.ts";

const OLD_SECRET = "an-older-test-secret-of-at-least-32-chars";
const DAY = 86_400;
const seconds = () => Math.floor(Date.now() / 1000);

const CONFIGS = 70;
const READS = 45;

type Callbacks = NonNullable<FastifyAuthConfig["callbacks"]>;
type Note = (...call: unknown[]) => void;

/** What applications do in their callbacks, well and badly. */
const JWT_CALLBACKS: ((note: Note) => Callbacks["jwt"])[] = [
  (note) => (params) => (note("jwt", params), params.token),
  () => async ({ token }) => await Promise.resolve({ ...token }),
  () => ({ token }) => ({ ...token, n: ((token.n as number) ?? 0) + 1 }),
  () => ({ token }) => Object.assign(token, { role: "admin" }),
  () => ({ token: { sub, name, ...rest } }) => ({
    ...rest,
    name: name ?? null,
    ...(sub !== undefined && { sub }),
  }),
  () => ({ token }) => ({ ...token, big: "x".repeat(4_500) }),
  () => ({ token }) => (delete token.email, { ...token, date: new Date(0), nothing: undefined }),
  () => ({ token }) => (token.name === "out" ? null : token),
  () => () => Promise.reject(new Error("boom")),
];

const SESSION_CALLBACKS: ((note: Note) => Callbacks["session"])[] = [
  (note) => (params) => (note("session", params), params.session),
  () => ({ session, token }) => ({ ...session, user: { ...session.user, id: token?.sub ?? "none" } }) as never,
  () => async ({ session, token }) =>
    await Promise.resolve({ ...session, when: new Date(0), role: token?.role }) as never,
  () => ({ session, token }) => ((token.seen = true), session),
  () => () => null as never,
  () => ({ session }) => session.expires as never,
  () => () => {
    throw new Error("boom");
  },
];

/** A configuration that is made anew for each way. */
function anyConfig(random: Random): { make: ConfigMaker; settings: Settings } {
  const maxAge = random.pick([undefined, undefined, 3600, 30 * DAY]);
  const updateAge = random.pick([undefined, undefined, 0, 600, 5 * DAY]);
  const jwtMaxAge = random.pick([undefined, undefined, 7200]);
  const secure = random.pick([undefined, undefined, true, false]);
  const name = random.pick([undefined, undefined, undefined, "sid", "__Host-session"]);
  const jwt = random.oneIn(2) ? random.pick(JWT_CALLBACKS) : undefined;
  const session = random.oneIn(2) ? random.pick(SESSION_CALLBACKS) : undefined;
  const listens = random.oneIn(3);
  const secrets = random.pick([[SECRET], [SECRET, OLD_SECRET], [OLD_SECRET, SECRET]]);
  const make: ConfigMaker = (note) => ({
    secret: secrets.length === 1 ? secrets[0]! : secrets,
    session: { ...(maxAge !== undefined && { maxAge }), ...(updateAge !== undefined && { updateAge }) },
    ...(jwtMaxAge !== undefined && { jwt: { maxAge: jwtMaxAge } }),
    ...(secure !== undefined && { useSecureCookies: secure }),
    ...(name !== undefined && { cookies: { sessionToken: { name, options: { path: "/app" } } } }),
    callbacks: { ...(jwt && { jwt: jwt(note)! }), ...(session && { session: session(note)! }) },
    ...(listens && { events: { session: (message) => note("event", message) } }),
  });
  const ages = { maxAge: maxAge ?? 30 * DAY, updateAge: updateAge ?? DAY };
  const tokenMaxAge = jwtMaxAge ?? ages.maxAge;
  return { make, settings: { ...ages, tokenMaxAge, secure, name, secrets } };
}

/** What a configuration says, in seconds. */
interface Settings {
  maxAge: number;
  updateAge: number;
  tokenMaxAge: number;
  secure: boolean | undefined;
  name: string | undefined;
  secrets: string[];
}

/** A request's token, and its claims unless it was altered. */
interface Generated {
  token: string;
  claims: JWT;
  /** Sealed in core's usual form with the first secret. */
  current: boolean;
}

async function anyToken(
  random: Random,
  salt: string,
  { secrets, tokenMaxAge }: Settings,
): Promise<Generated> {
  const extra = random.oneIn(3) ? random.json(2) : {};
  const claims: JWT = {
    name: random.pick(["Ada", "out", "日本 🦕", "", null]),
    ...(random.oneIn(2) && { email: "ada@example.com", picture: "p", sub: "1" }),
    ...(typeof extra === "object" && extra !== null && !Array.isArray(extra) && { extra }),
    ...(random.oneIn(8) && { big: random.text(40).repeat(120) }),
  };
  const secret = random.oneIn(3) ? random.pick([SECRET, OLD_SECRET]) : secrets[0]!;
  const form = random.int(8);
  if (form < 3) {
    const maxAge = random.pick([-30, -5, 60, tokenMaxAge, tokenMaxAge, tokenMaxAge, 365 * DAY]);
    const token = await (form === 0 ? encode : coreEncode)({ token: claims, secret, salt, maxAge });
    const iat = seconds();
    return { token, claims: { ...claims, iat, exp: iat + maxAge }, current: secret === secrets[0] };
  }
  const iat = random.pick([undefined, seconds(), seconds() - 700, seconds() - 2 * DAY, seconds() - 20 * DAY]);
  const stamped: JWT = {
    ...claims,
    ...(iat !== undefined && { iat }),
    ...random.pick([{}, { exp: seconds() + 60 }, { exp: seconds() - 60 }, { exp: seconds() + tokenMaxAge }]),
  };
  const plain = {
    alg: "dir",
    enc: form < 6 ? "A256CBC-HS512" : "A256GCM",
    ...(form === 5 && { typ: "JWT" }),
  };
  const length = plain.enc === "A256GCM" ? 32 : 64;
  const key = new Uint8Array(
    hkdfSync("sha256", secret, salt, `Auth.js Generated Encryption Key (${salt})`, length),
  );
  return {
    token: await new EncryptJWT(stamped).setProtectedHeader(plain).encrypt(key),
    claims: stamped,
    current: false,
  };
}

/** The token as it is, mostly. */
function mangled(random: Random, token: string): string {
  const at = random.int(token.length);
  switch (random.int(12)) {
    case 0: {
      // Never the character that is there: the token would stay valid.
      const others = ["A", "_", "=", "!", "."].filter((each) => each !== token[at]);
      return token.slice(0, at) + random.pick(others) + token.slice(at + 1);
    }
    case 1:
      return token.slice(0, at);
    case 2:
      return `${token}${random.pick(["=", "A", ".", "%20"])}`;
    default:
      return token;
  }
}

/** The token as cookies: whole or in chunks, shuffled, with one missing, in company. */
function anyCookie(random: Random, name: string, token: string): string {
  // No more than sixteen chunks are read.
  const size = random.oneIn(4) ? Math.max(100 + random.int(400), Math.ceil(token.length / 16)) : 3936;
  const count = Math.ceil(token.length / size);
  const chunk = (i: number) => `${name}.${i}=${token.slice(i * size, (i + 1) * size)}`;
  const pairs = count === 1 ? [`${name}=${token}`] : Array.from({ length: count }, (_, i) => chunk(i));
  if (count > 1 && random.oneIn(3)) pairs.reverse();
  if (count > 1 && random.oneIn(6)) pairs.splice(random.int(count), 1);
  // No whole cookie beside chunks: core's sort of the two depends on how V8 compiled it (session_cookie_test.ts).
  const company = [
    "theme=dark",
    `${name}-old=`,
    count === 1 ? `${name}=second` : "a=b",
    "authjs.csrf-token=a%7Cb",
    `x${name}=1`,
    "__proto__=x",
  ];
  if (random.oneIn(3)) pairs.splice(random.int(pairs.length + 1), 0, random.pick(company));
  return pairs.join(random.pick(["; ", "; ", ";"]));
}

/** What is known of a read. */
interface Read extends Generated, Settings {
  cookie: string;
  cookieName: string;
}

/**
 * The differences that session_semantics_test.ts names, applied to what core did. What is renewed: tokens that end before
 * 95 % of the session's life from now, that are older than `updateAge`, that do not tell their age, or that live longer
 * than the configuration says.
 */
function required(theirs: Observed, read: Read): Observed {
  const refused = requiredOfRefused(theirs, read);
  if (refused !== undefined) return refused;
  const { claims, current, maxAge, updateAge, tokenMaxAge } = read;
  const { iat = NaN, exp = Infinity } = claims;
  const life = Math.min(maxAge, tokenMaxAge);
  const ends = Math.min(exp, iat + maxAge);
  const young = current && iat + updateAge > seconds() && ends > seconds() + 0.95 * life &&
    exp - iat <= tokenMaxAge;
  const renewed = theirs.cookies.find((cookie) => "claims" in (cookie as object)) as
    | { claims: JWT }
    | undefined;
  const { iat: _iat, exp: _exp, jti: _jti, ...before } = claims;
  const stays = young && renewed !== undefined && inOrder(renewed.claims) === inOrder(before);
  const expected = endingAt(
    structuredClone(theirs),
    inSeconds(stays ? ends - Date.now() / 1000 : life),
  );
  const { session } = expected as { session: { user?: unknown } | null };
  if (typeof session !== "object" || !session?.user) expected.session = null;
  // A callback that throws ends nothing.
  if (stays || theirs.errors.includes(BOOM)) expected.cookies = [];
  return expected;
}

/** Claims as text, whatever order they are in. */
function inOrder(claims: JWT): string {
  return JSON.stringify(Object.entries(claims).toSorted(([a], [b]) => a < b ? -1 : 1));
}

/** Refused in other words, or if core accepts it; and of another's cookies, or of another process's, nothing is removed. */
function requiredOfRefused(theirs: Observed, { cookie, cookieName, secrets }: Read): Observed | undefined {
  const { token, names } = readSessionCookie(cookie, cookieName);
  const expected = { ...theirs, session: null, calls: [] };
  if (names.length === 0) return { ...expected, errors: [], cookies: [] };
  const parts = token.split(".");
  const canonical = parts.every((part) => Buffer.from(part, "base64url").toString("base64url") === part);
  const [error = ""] = theirs.errors;
  if (canonical && !REFUSED.test(error)) return undefined;
  const removals = names.map((name) => ({ name, attributes: "; Max-Age=0" }));
  const kept = open(token, secrets, cookieName, otherSalts({} as never)) === UNKNOWN_KEY;
  if (kept) assertEquals([canonical, error], [true, `JWTSessionError Error ${UNKNOWN_KEY.message}`]);
  return { ...expected, errors: ["refused"], cookies: kept ? [] : removals };
}

/** How it is logged that a callback has thrown. */
const BOOM = "JWTSessionError Error boom";

/** How core tells a token that is none. */
const REFUSED = /^JWTSessionError (?:JWE|JOSE|JWTExpired|JWTClaimValidationFailed|Error no matching decryption secret)/;

/** Where both refuse a token, their words may differ. */
function inOneWord(observed: Observed): Observed {
  const isRemoval = (cookie: unknown): cookie is { name: string } =>
    (cookie as { attributes?: string }).attributes?.includes("Max-Age=0") ?? false;
  return {
    ...observed,
    errors: observed.errors.map((error) => REFUSED.test(error) ? "refused" : error),
    // Removals in order of their names, and all of one cookie's attributes: neither matters to a browser.
    cookies: [
      ...observed.cookies.filter(isRemoval).map(({ name }) => ({ name, removed: true }))
        .toSorted((a, b) => a.name < b.name ? -1 : 1),
      ...observed.cookies.filter((cookie) => !isRemoval(cookie)),
    ],
  };
}

// The clock stands still: on a busy machine seconds may pass between the two reads. And it is the same in each run: of
// how long times are as text depends whether a session with our name in it needs a cookie more than core's.
Deno.test("thousands of generated tokens and configurations: every read gives what the whole of core gives", () =>
  withClock(compareAll, Date.UTC(2026, 10, 21)));

async function compareAll(): Promise<void> {
  const random = seededRandom();
  const counts = {
    configs: 0,
    reads: 0,
    again: 0,
    sessions: 0,
    renewed: 0,
    removed: 0,
    errors: 0,
    chunked: 0,
  };
  for (let i = 0; i < CONFIGS; i++) {
    const { make, settings } = anyConfig(random);
    await using comparison = new SessionComparison(make);
    counts.configs++;
    for (let j = 0; j < READS; j++) {
      const scheme = random.pick(["http", "http", "https"] as const);
      const secure = settings.secure ?? scheme === "https";
      const name = settings.name ?? `${secure ? "__Secure-" : ""}authjs.session-token`;
      const generated = await anyToken(random, random.oneIn(15) ? "authjs.state" : name, settings);
      const token = mangled(random, generated.token);
      const cookie = anyCookie(random, name, token);
      const theirs = await comparison.theirs({ cookie, scheme });
      const ours = inOneWord(await comparison.ours({ cookie, scheme }));
      const expected = inOneWord(required(theirs, { ...generated, ...settings, cookie, cookieName: name }));
      const what = `seed ${random.seed}, configuration ${i}, read ${j}: ${cookie.slice(0, 200)}`;
      assertEquals(ours, expected, `${what}\n${JSON.stringify({ ours, expected }, null, 1).slice(0, 3000)}`);
      // Where nothing was renewed, by the third time the token is one that is remembered.
      for (const time of ours.session !== null && ours.cookies.length === 0 ? ["second", "third"] : []) {
        assertEquals(
          inOneWord(await comparison.ours({ cookie, scheme })),
          expected,
          `${what}, the ${time} time`,
        );
        counts.again++;
      }
      counts.reads++;
      counts.sessions += Number(ours.session !== null);
      counts.errors += Number(ours.errors.length > 0);
      const told = ours.cookies.map((cookie) => "claims" in (cookie as object));
      counts.renewed += Number(told.includes(true));
      counts.removed += Number(told.includes(false));
      counts.chunked += Number(cookie.includes(`${name}.1=`));
    }
  }
  console.log(`seed ${random.seed}: ${JSON.stringify(counts)}`);
  for (const [what, count] of Object.entries(counts)) {
    assert(count >= CONFIGS, `too few ${what}: ${JSON.stringify(counts)}`);
  }
}
