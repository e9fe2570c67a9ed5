/**
 * What docs/options.md says beside the docstrings of this package: an example of each option, and about core's options
 * what they mean with this plugin. `generate_option_docs.ts` refuses an option of core that is missing here.
 */

/** What is said of an option of core. */
interface OptionText {
  text: string;
  default?: string;
  /** If the type has a name of its own, whose parts `deno doc` does not show. */
  type?: string;
}

/** In place of core's check cookies. */
const IN_STATE = "No effect: the checks of a sign-in are in the cookies of `cookies.state`.";

/** Core's options, and below them their parts, in the order of the page. */
export const CORE_OPTIONS: Readonly<Record<string, OptionText>> = {
  providers: {
    text: "The sign-in methods: [providers](providers.md), each imported from a subpath of its own.",
  },
  secret: {
    text:
      "One or more random strings of at least 32 characters. Cookies, tokens and links are encrypted or signed with " +
      "the first, and accepted with any of them ([how to rotate it](secret-rotation.md)). " +
      "`npx fastify-authjs secret` or `openssl rand -base64 33` makes one.",
    default: "`AUTH_SECRET`, after `AUTH_SECRET_3`, `AUTH_SECRET_2` and `AUTH_SECRET_1`",
  },
  session: { text: "Where sessions are kept, and how long they last.", default: "as below" },
  "session.strategy": {
    text: "`jwt` is an encrypted cookie, `database` a row of the adapter ([sessions](database-sessions.md)).",
    default: "`database` with an adapter, else `jwt`",
  },
  "session.maxAge": {
    text: "How long a session lasts after it was last renewed, in seconds " +
      "([how long a session lasts](session-lifetime.md)).",
    default: "`2_592_000` (30 days)",
  },
  "session.updateAge": {
    text: "The age in seconds from which a read renews a session. A twentieth of `maxAge` is used if that is less.",
    default: "`86_400` (one day)",
  },
  "session.ephemeralMaxAge": { text: "" },
  "session.generateSessionToken": {
    text: "Makes the token of a session in a database. It must not be guessable.",
    default: "256 random bits as hexadecimal digits",
  },
  jwt: { text: "How session tokens are written and read.", default: "encrypted (JWE, `A256CBC-HS512`)" },
  "jwt.maxAge": {
    text: "As `session.maxAge`, in seconds; the lesser of the two counts.",
    type: "number",
    default: "`session.maxAge`",
  },
  "jwt.encode": {
    text: "Makes the text of a session token.",
    type: "(params: JWTEncodeParams) => Awaitable<string>",
    default: "that of core",
  },
  "jwt.decode": {
    text: "Reads a session token; `null` or an error if it is none.",
    type: "(params: JWTDecodeParams) => Awaitable<JWT | null>",
    default: "that of core",
  },
  pages: { text: "" },
  "pages.signIn": { text: "The sign-in page.", type: "string", default: "a page that is built in" },
  "pages.signOut": {
    text: "The page that asks whether to sign out.",
    type: "string",
    default: "a page that is built in",
  },
  "pages.error": {
    text: "The page of errors, named by `?error=`.",
    type: "string",
    default: "a page that is built in",
  },
  "pages.verifyRequest": {
    text: "The page that says that a link has been mailed.",
    type: "string",
    default: "a page that is built in",
  },
  "pages.newUser": {
    text: "Where users go after their first sign-in. It needs an adapter.",
    type: "string",
    default: "the `callbackUrl`",
  },
  callbacks: {
    text: "Functions that decide about a sign-in and make the session ([callbacks](callbacks.md)).",
    default: "those of core",
  },
  "callbacks.signIn": {
    text: "Whether a user may sign in: `true`, `false`, or a path or URL that the user is sent to instead.",
    default: "all users may",
  },
  "callbacks.redirect": {
    text: "Where a sign-in or sign-out leads, from the `callbackUrl` that the client sent.",
    default: "paths and URLs of the public origin; else the origin",
  },
  "callbacks.session": {
    text: "Makes the session that `getSession()` and `/auth/session` give, from a `token` or from the `user` of the " +
      "database. Browsers can read all of it.",
    default: "`name`, `email` and `image`",
  },
  "callbacks.jwt": {
    text: "Makes the claims of the session token: at a sign-in with `user` and `account`, at each read without them. " +
      "Not with sessions in a database. `null` ends the session, and so does an error with `statusCode: 401`; with any " +
      "other error it stays.",
    default: "`name`, `email`, `picture` and `sub`",
  },
  events: {
    text: "Functions that are called after something happened, for an audit log. What they return is not used.",
    default: "none",
  },
  "events.signIn": { text: "A user signed in.", default: "none" },
  "events.signOut": { text: "A session was ended by its user.", default: "none" },
  "events.createUser": { text: "The adapter created a user.", default: "none" },
  "events.updateUser": { text: "The adapter changed a user.", default: "none" },
  "events.linkAccount": { text: "An account of a provider was linked to a user.", default: "none" },
  "events.session": { text: "A session was read.", default: "none" },
  adapter: { text: "A [database adapter](adapters.md) of Auth.js.", default: "none: sessions are cookies" },
  debug: {
    text:
      "Whether core writes what it does into the log, at the level `debug`. The function `debug` of a `logger` gets it instead.",
    default: "`false`",
  },
  logger: { text: "Replaces functions of core's logger.", default: "the logger of Fastify" },
  theme: { text: "The look of the [built-in pages](pages.md).", default: "that of the pages" },
  useSecureCookies: {
    text: "Whether cookies are `Secure` and their names begin with `__Host-` (that of the session with `__Secure-`).",
    default: "whether the public origin is https",
  },
  cookies: {
    text: "The `name` and the attributes (`options`) of each cookie. What is left out stays core's. A cookie whose " +
      "`domain` or `path` changes needs another `name`: browsers keep the one that they have beside the new one, also " +
      "after a sign-out. Over https a cookie of a sign-in in progress has the prefix `__Host-`, unless it has a `name`, " +
      "a `domain`, a `path` or `secure: false` of its own.",
    default: "those of core",
  },
  ...cookies({
    sessionToken: [
      "The session. Over https, the name `__Host-session` keeps other hosts of the domain from setting it.",
      "`authjs.session-token`",
    ],
    callbackUrl: ["Where the sign-in leads.", "`authjs.callback-url`"],
    csrfToken: ["The CSRF token.", "`authjs.csrf-token`"],
    pkceCodeVerifier: [IN_STATE],
    state: [
      "The sign-ins in progress, with a provider or a passkey: each has a cookie of its own, whose name begins with " +
      "this one. As many as fit into 4 KB are kept, up to eight; the oldest gives way. They are " +
      "`SameSite=None` if the provider answers with a form (`response_mode=form_post`).",
      "`authjs.state`",
    ],
    nonce: [IN_STATE],
    webauthnChallenge: [IN_STATE],
  }),
  trustHost: {
    text: "Whether `request.host` may decide the public origin if neither `origin` nor `AUTH_URL` is set. Only if " +
      "the Host header is checked before it gets to the application.",
    default:
      "`AUTH_TRUST_HOST`; without it, `true` on Vercel and Cloudflare Pages and unless `NODE_ENV` is `production`",
  },
  skipCSRFCheck: {
    text: "Core's switch that turns its CSRF token off. Keep it: forms of other sites could sign users in and out.",
    default: "not set",
  },
  redirectProxyUrl: {
    text:
      "The auth routes of a stable deployment, as a URL: providers redirect there, and it leads on to this one. For " +
      "[previews with changing addresses](deployment.md#previews-with-changing-addresses).",
    default: "`AUTH_REDIRECT_PROXY_URL`",
  },
  experimental: { text: "Features of core that may change.", default: "none" },
  "experimental.enableWebAuthn": { text: "Required for [passkeys](passkeys.md).", default: "`false`" },
  basePath: {
    text: "Not needed: the mount path is the `prefix` of the registration. A value that contradicts it stops the boot.",
    default: "the `prefix`",
  },
};

/** @param names Without a name, browsers do not get the cookie. */
function cookies(names: Readonly<Record<string, [text: string, name?: string]>>): Record<string, OptionText> {
  return Object.fromEntries(
    Object.entries(names).map(([cookie, [text, name]]) => [`cookies.${cookie}`, {
      text,
      type: "Partial<CookieOption>",
      default: name === undefined
        ? "not set"
        : `${name}, over https with the prefix \`${cookie === "sessionToken" ? "__Secure-" : "__Host-"}\``,
    }]),
  );
}

/** An example of each option, as it is written in the configuration; by the name of the interface for other objects. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  providers: "providers: [GitHub]",
  secret: 'secret: ["the new one, of 32 characters or more", "the old one, of 32 characters or more"]',
  session: 'session: { strategy: "jwt", maxAge: 7 * 24 * 60 * 60 }',
  "session.strategy": 'session: { strategy: "database" }, adapter',
  "session.maxAge": "session: { maxAge: 7 * 24 * 60 * 60 }",
  "session.updateAge": "session: { updateAge: 60 * 60 }",
  "session.ephemeralMaxAge": "session: { ephemeralMaxAge: 60 * 60 }",
  "session.generateSessionToken": "session: { generateSessionToken: () => crypto.randomUUID() + crypto.randomUUID() }",
  jwt: "jwt: { maxAge: 7 * 24 * 60 * 60 }",
  callbacks: "callbacks: { signIn: ({ profile }) => profile?.email_verified === true }",
  "callbacks.signIn": 'callbacks: { signIn: ({ user }) => user.email?.endsWith("@app.example") ?? false }',
  "callbacks.redirect": 'callbacks: { redirect: ({ url, baseUrl }) => url.startsWith("/") ? baseUrl + url : baseUrl }',
  "callbacks.session":
    'callbacks: { session: ({ session: { user, expires }, token }) => ({ user: { id: token.sub ?? "", name: user.name ?? null }, expires }) }',
  "callbacks.jwt": "callbacks: { jwt: ({ token, user }) => user?.id ? { ...token, sub: user.id } : token }",
  events: 'events: { signIn: ({ user }) => app.log.info({ user: user.id }, "signed in") }',
  "events.signIn": 'events: { signIn: ({ user }) => app.log.info({ user: user.id }, "signed in") }',
  "events.signOut": 'events: { signOut: () => app.log.info("signed out") }',
  "events.createUser": 'events: { createUser: ({ user }) => app.log.info({ user: user.id }, "created") }',
  "events.updateUser": 'events: { updateUser: ({ user }) => app.log.info({ user: user.id }, "changed") }',
  "events.linkAccount":
    'events: { linkAccount: ({ account }) => app.log.info({ provider: account.provider }, "linked") }',
  "events.session": 'events: { session: () => app.log.debug("read") }',
  adapter: "adapter: PostgresAdapter(pool)",
  debug: "debug: true",
  logger: "logger: { warn: (code) => app.log.warn({ code }) }",
  theme: 'theme: { brandColor: "#0b6e4f", logo: "/logo.svg", colorScheme: "auto" }',
  useSecureCookies: "useSecureCookies: true",
  cookies: 'cookies: { sessionToken: { name: "staff-session", options: { sameSite: "strict" } } }',
  trustHost: "trustHost: true",
  redirectProxyUrl: 'redirectProxyUrl: "https://app.example/auth"',
  experimental: "experimental: { enableWebAuthn: true }",
  "experimental.enableWebAuthn": "experimental: { enableWebAuthn: true }",
  basePath: 'basePath: "/auth"',
  pages: 'pages: { signIn: "/login", style: "/auth.css" }',
  origin: 'origin: "https://app.example"',
  redirectProxyOrigins: 'redirectProxyOrigins: ["https://*.preview.example"]',
  trustedOrigins: 'trustedOrigins: ["https://spa.example"]',
  providerTimeout: "providerTimeout: 5_000",
  adapterTimeout: "adapterTimeout: 2_000",
  sessionCookieLimit: "sessionCookieLimit: 4_096",
  store: "store: redisStore(client)",
  rateLimit: "rateLimit: { address: { max: 300, timeWindow: 60_000 }, redis: client }",
  refreshDue: "refreshDue: (token) => Number(token.expires_at) * 1000 < Date.now()",
  emailConfirm: "emailConfirm: false",
  emailMessage: "emailMessage: ({ message, site }) => ({ ...message, subject: `Your link for ${site}` })",
  "FastifyAuthPages.siteName": 'pages: { siteName: "Engines & Co." }',
  "FastifyAuthPages.language": 'pages: { language: "de" }',
  "FastifyAuthPages.languageMenu": "pages: { languageMenu: false }",
  "FastifyAuthPages.texts": 'pages: { texts: { en: { "signIn.title": "Welcome back" } } }',
  initiateLogin:
    'const keycloak = { ...Keycloak({ issuer: "https://login.example/realms/staff" }), initiateLogin: true };',
  insecureProviders: 'insecureProviders: ["keycloak"]',
  refreshTokens: "refreshTokens: true",
  apiAccess: 'apiAccess: { issuers: [{ issuer: "https://login.example", audience: "https://api.example" }] }',
  bearer: "bearer: { maxAge: 24 * 60 * 60 }",
  revocable: "store: memoryStore(), revocable: true",
  stepUp: "stepUp: true",
  tenant: 'tenant: "acme"',
  providerLogout: "providerLogout: { backchannel: true }, store: memoryStore(), revocable: true",
  verifyIdTokens: "verifyIdTokens: true",
  "jwt.maxAge": "jwt: { maxAge: 7 * 24 * 60 * 60 }",
  "jwt.encode": 'jwt: { encode: (params) => encode({ ...params, salt: "staff" }) }',
  "jwt.decode": 'jwt: { decode: (params) => decode({ ...params, salt: "staff" }) }',
  "pages.signIn": 'pages: { signIn: "/login" }',
  "pages.signOut": 'pages: { signOut: "/logout" }',
  "pages.error": 'pages: { error: "/sorry" }',
  "pages.verifyRequest": 'pages: { verifyRequest: "/check-your-mail" }',
  "pages.newUser": 'pages: { newUser: "/welcome" }',
  "cookies.sessionToken": 'cookies: { sessionToken: { name: "staff-session" } }',
  "cookies.callbackUrl": 'cookies: { callbackUrl: { name: "staff-callback-url" } }',
  "cookies.csrfToken": 'cookies: { csrfToken: { name: "staff-csrf-token" } }',
  "cookies.pkceCodeVerifier": "cookies: { pkceCodeVerifier: { options: { maxAge: 600 } } }",
  "cookies.state": "cookies: { state: { options: { maxAge: 600 } } }",
  "cookies.nonce": "cookies: { nonce: { options: { maxAge: 600 } } }",
  "cookies.webauthnChallenge": "cookies: { webauthnChallenge: { options: { maxAge: 300 } } }",
  "RequireSessionOptions.roles":
    'app.get("/reports", { onRequest: requireSession(config, { roles: ["admin", "analyst"] }) }, handler);',
  "RequireSessionOptions.authorize":
    'app.get("/ada", { onRequest: requireSession(config, { authorize: ({ user }) => user?.name === "Ada" }) }, handler);',
  "RequireSessionOptions.maxAge":
    'app.get("/delete", { onRequest: auth.requireSession({ maxAge: 5 * 60 }) }, handler);',
  "RequireSessionOptions.acr":
    'app.get("/pay", { onRequest: auth.requireSession({ acr: "urn:example:second-factor" }) }, handler);',
  "RequireSessionOptions.amr": 'app.get("/admin", { onRequest: auth.requireSession({ amr: "mfa" }) }, handler);',
  "RouteAuthConfig.auth": 'app.get("/me", { config: { auth: true } }, handler);',
  "RouteAuthOptions.mountPath": 'app.get("/rota", { config: { auth: { mountPath: "/staff/auth" } } }, handler);',
  "FastifyAuthPluginOptions.prefix": 'await app.register(FastifyAuth(config), { prefix: "/auth" });',
  "FastifyAuthPluginOptions.openapi": 'await app.register(FastifyAuth(config), { prefix: "/auth", openapi: true });',
  "AuthClientOptions.baseUrl": 'const auth = createAuthClient({ baseUrl: "https://api.example/auth" });',
  "AuthClientOptions.fetch": "const auth = createAuthClient({ fetch: (url, init) => fetch(url, init) });",
  "PasskeyOptions.provider": 'await registerPasskey({ provider: "passkey" });',
  "PasskeyOptions.fields": 'await registerPasskey({ fields: { email: "ada@example.com" } });',
  "PasskeyOptions.signal": "await registerPasskey({ signal: AbortSignal.timeout(60_000) });",
  "SignInActionOptions.fields":
    'app.post("/login", (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body }));',
  "SignInActionOptions.authorizationParams":
    'app.post("/github", (request, reply) => auth.signIn(request, reply, "github", { authorizationParams: { login: "ada" } }));',
  "SignOutActionOptions.callbackUrl":
    'app.post("/logout", (request, reply) => auth.signOut(request, reply, { callbackUrl: "/" }));',
  "SignOutActionOptions.redirect":
    'app.post("/leave", (request, reply) => auth.signOut(request, reply, { redirect: false }));',
  "SignOutActionOptions.providerLogout":
    'app.post("/lock", (request, reply) => auth.signOut(request, reply, { providerLogout: false }));',
  "SignInOptions.fields": 'await signIn("credentials", { fields: { username, password } });',
  "SignInOptions.parameters": 'await signIn("github", { parameters: { login: "ada" } });',
  "SignInOptions.mediation": 'await signIn("passkey", { mediation: "conditional" });',
  "SignOutOptions.callbackUrl": 'await signOut({ callbackUrl: "/goodbye" });',
  "SignOutOptions.redirect": "const result = await signOut({ redirect: false });",
  "RedisStoreOptions.prefix": 'const store = redisStore(client, { prefix: "shop:" });',
  "FastifyAuthInstrumentationConfig.enabled":
    "const instrumentation = new FastifyAuthInstrumentation({ enabled: false });",
  "FastifyAuthInstrumentationConfig.providerSpans":
    "const instrumentation = new FastifyAuthInstrumentation({ providerSpans: false });",
  "IssuerOptions.user": 'const issuer = await startIssuer({ user: { sub: "42", name: "Ada" } });',
  "IssuerOptions.lifetime": "const issuer = await startIssuer({ lifetime: 60 });",
  "IssuerOptions.port": "const issuer = await startIssuer({ port: 8080 });",
  "IssuerSignInOptions.user": 'const inject = await issuer.signIn(app, { user: { sub: "43", name: "Eve" } });',
  "IssuerSignInOptions.provider": 'const inject = await issuer.signIn(app, { provider: "keycloak" });',
  "IssuerSignInOptions.prefix": 'const inject = await issuer.signIn(app, { prefix: "/staff/auth" });',
  "IssuerSignInOptions.parameters": 'const inject = await issuer.signIn(app, { parameters: { acr_values: "mfa" } });',
  "SignedInOptions.user": 'const inject = await signedIn(app, config, { user: { id: "1", name: "Ada" } });',
  "SignedInOptions.account":
    'const inject = await signedIn(app, config, { user, account: { provider: "github", providerAccountId: "1", type: "oauth" } });',
  "SignedInOptions.profile": 'const inject = await signedIn(app, config, { user, profile: { locale: "de" } });',
  "SignedInOptions.claims": "const inject = await signedIn(app, config, { user, claims: { expires_at: 0 } });",
  "SignedInOptions.expires": "const inject = await signedIn(app, config, { user, expires: new Date(0) });",
  "SignedInOptions.secure": "const inject = await signedIn(app, config, { user, secure: true });",
  "UnlinkAccountOptions.otherSignInMethod":
    'app.post("/unlink", (request) => createAuth(config).unlinkAccount(request, { provider: "github", providerAccountId: "1" }, { otherSignInMethod: true }));',
  "FastifyAuthPages.confirmEmail": 'pages: { confirmEmail: "/confirm" }',
  "FastifyAuthPages.style": 'pages: { style: "/auth.css" }',
};
