/** What every contestant is given: the same user, the same secret, sessions made by Auth.js itself. */
import { encode } from "@auth/core/jwt";

export const SECRET = "a-secret-for-the-benchmarks-of-at-least-32-characters";
export const COOKIE = "authjs.session-token";

/** What every route with a session answers. */
export const USER = {
  name: "Ada Lovelace",
  email: "ada@example.com",
  image: "https://example.com/ada.png",
};

/** A session token of Auth.js as a Cookie header, in as many chunks as its claims need. */
export async function sessionCookie(claims = {}) {
  const token = await encode({
    token: {
      name: USER.name,
      email: USER.email,
      picture: USER.image,
      sub: "1",
      role: "admin",
      ...claims,
    },
    secret: SECRET,
    salt: COOKIE,
  });
  const chunks = token.match(/.{1,3936}/gs);
  if (chunks.length === 1) return `${COOKIE}=${token}`;
  return chunks.map((chunk, index) => `${COOKIE}.${index}=${chunk}`).join("; ");
}

/** A text that is like another but for its end, where a tag is. */
const changedEnd = (text) => text.replace(/[\w-]{6}$/, (end) => end.startsWith("AAAAAA") ? "BBBBBB" : "AAAAAA");

/** What any client can send: no cookie, and one whose tag is wrong. */
export const forgedCookies = async () => ({ anonymous: "", forged: changedEnd(await sessionCookie()) });

/** More users than the token cache holds. */
export const USERS = 12_000;

/** A provider that costs nothing to configure and needs no network. */
export const provider = (id = "local") => ({
  id,
  name: id,
  type: "oauth",
  clientId: "id",
  clientSecret: "secret",
  authorization: "https://provider.example/authorize",
  token: "https://provider.example/token",
  userinfo: "https://provider.example/userinfo",
  profile: (profile) => profile,
});

/** The configuration of every Auth.js integration. */
export const authConfig = () => ({ providers: [provider()], secret: SECRET, trustHost: true });

/** What most applications do: the id and the role of the user are in the session. */
export const CALLBACKS = {
  jwt({ token, user }) {
    if (user) token.role = user.role;
    return token;
  },
  session({ session, token }) {
    session.user.id = token.sub;
    session.user.role = token.role;
    return session;
  },
};

/** Starts a Fastify application on a free port. */
export async function listen(app) {
  await app.listen({ port: 0, host: "127.0.0.1" });
  return app.server.address().port;
}

const OWNER = { id: "1", ...USER, emailVerified: null };
const nothing = () => Promise.resolve(null);
const same = (value) => Promise.resolve(value);

const nextMonth = () => new Date(Date.now() + 30 * 24 * 3_600_000);

/** A database that knows one user, whose sessions and links it all accepts. */
export const ADAPTER = {
  createUser: same,
  getUser: () => same(OWNER),
  getUserByEmail: (email) => same({ ...OWNER, email }),
  getUserByAccount: () => same(OWNER),
  updateUser: (user) => same({ ...OWNER, ...user }),
  linkAccount: same,
  createSession: same,
  getSessionAndUser: (sessionToken) =>
    same({ session: { sessionToken, userId: OWNER.id, expires: nextMonth() }, user: OWNER }),
  updateSession: nothing,
  deleteSession: nothing,
  createVerificationToken: same,
  useVerificationToken: ({ identifier, token }) =>
    same({ identifier, token, expires: new Date(Date.now() + 3_600_000) }),
  getAccount: nothing,
  getAuthenticator: nothing,
  createAuthenticator: same,
  listAuthenticatorsByUserId: () => same([]),
  updateAuthenticatorCounter: nothing,
};
