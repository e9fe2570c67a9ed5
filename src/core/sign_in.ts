/** One sign-in, as core calls the application's functions: what comes of it, and the session that it makes. */
import type { AuthConfig } from "@auth/core";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import type { Account, User } from "@auth/core/types";
import { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { withQuery } from "../http/callback_url.ts";
import { SignInRedirect } from "../provider/webauthn/errors.ts";
import { createSession, type NewSession } from "../session/create.ts";
import { hasEnded } from "../session/ending.ts";
import { sessionName, type SignedIn } from "../session/open.ts";
import type { EventDetails } from "../telemetry/events.ts";
import { type Answer, TURNED_AWAY } from "./answer.ts";
import { type ProviderContext, sessionParts, sessionRemovals } from "./context.ts";

/** Begins or ends a sign-in, in which core links the account to the `known` user, if the database has that one. */
export function signInOf(context: ProviderContext, adapter: Adapter | undefined, known: SignedIn | undefined) {
  const { config, provider, settings } = context;
  const { callbacks: { signIn: ownSignIn, redirect } = {}, events: own = {}, pages } = config.core;
  // The user that the `signIn` callback saw, and whether that returned a page.
  let user: User | undefined;
  let turnedAway = false;
  let linked: EventDetails<"fastify-authjs:link"> | undefined;
  let signedIn: EventDetails<"fastify-authjs:sign-in"> | undefined;
  let session: NewSession | undefined;
  let goesOn = false;

  const callbacks: Partial<NonNullable<AuthConfig["callbacks"]>> = {
    async signIn(params) {
      user = params.user as User;
      if (adapter === undefined && provider.isOAuth) user.id = userIdOf(params.account!, context);
      const result: unknown = ownSignIn === undefined ? true : await ownSignIn(params);
      // Core takes a URL object for `true`, and for WebAuthn a text, too.
      const answer = result instanceof URL ? result.href : result as boolean | string;
      turnedAway = typeof answer === "string";
      if (turnedAway && answer && provider.type === "webauthn") throw new SignInRedirect(answer as string);
      return answer;
    },
    async jwt(params) {
      const given = adapter === undefined ? { ...withoutNewUser(params), trigger: "signIn" as const } : params;
      signedIn = { isNewUser: given.isNewUser === true, ...idsOf(given) };
      const linksAccount = linked !== undefined;
      const parts = sessionParts(context);
      // What is added comes first: after a spread, Node 20 makes a new hidden class for each property.
      session = await createSession(given, { adapter, parts, linksAccount, goesOn, ...context });
      return params.token;
    },
    ...(redirect && { redirect }),
  };
  const events: NonNullable<AuthConfig["events"]> = adapter === undefined
    // Core writes no user and no account then.
    ? { ...(own.signIn && { signIn: (message) => own.signIn!(withoutNewUser(message)) }) }
    : {
      ...own,
      linkAccount(message) {
        linked = idsOf(message);
        goesOn = known !== undefined && String(linked.userId) === String(known.sub);
        return own.linkAccount?.(message);
      },
    };
  // Core wants an adapter, once a configuration of the process had mails or passkeys. With this one the user
  // stays the object that the `signIn` callback saw.
  const stateless: Adapter = {
    getUserByAccount: () => null,
    getUserByEmail: () => null,
    createUser: () => user as AdapterUser,
    linkAccount: () => undefined,
  };

  return {
    adapter: adapter ?? stateless,
    callbacks,
    events,
    async complete(answer: Answer): Promise<Answer> {
      const { redirect = "" } = answer;
      // The user may have signed out meanwhile, such as in another tab.
      if (session && goesOn && await hasEnded(await sessionName(session.token, settings), context)) session = undefined;
      const published = {
        ...(linked && { "fastify-authjs:link": linked }),
        ...(session && signedIn && { "fastify-authjs:sign-in": signedIn }),
      };
      // The `jwt` callback returned null, or the session has ended.
      const removals = signedIn && !session ? sessionRemovals(context) : [];
      const newUser = signedIn?.isNewUser && redirect !== "" ? pages?.newUser : undefined;
      return {
        events: turnedAway ? TURNED_AWAY : published,
        ...(session && { session: session.token, goesOn }),
        ...answer,
        cookies: [...answer.cookies, ...session?.cookies ?? removals],
        ...(newUser && { redirect: withQuery(newUser, { callbackUrl: redirect }) }),
      };
    },
  };
}

/** Without a database nobody is a new user. Core says nothing of that with credentials. */
function withoutNewUser<T extends { isNewUser?: boolean; account?: { type: string } | null }>(params: T): T {
  const isNamed = "isNewUser" in params && params.account?.type !== "credentials";
  return isNamed ? { ...params, isNewUser: undefined } : params;
}

/** Whom an event is about; of an e-mail provider the account is an address, which no event has. */
function idsOf({ user, account }: {
  readonly user: Pick<User, "id">;
  readonly account?: { readonly type: string; readonly providerAccountId: string } | null;
}): EventDetails<"fastify-authjs:link"> {
  const accountId = account?.type === "email" ? undefined : account?.providerAccountId;
  return { userId: user.id, accountId };
}

/** A UUID of version 8 (RFC 9562 section 5.8). Without a database core makes up another id at each sign-in. */
function userIdOf(
  { providerAccountId }: Account,
  { provider: { id, server: { issuer = id } }, config: { tenant = "" } }: ProviderContext,
): string {
  // Each part has its length before it, so that no two lists are one text.
  const parts = [tenant, issuer, String(providerAccountId)].map((part) => `${Buffer.byteLength(part)}:${part}`);
  const text = `fastify-authjs user id v1 ${parts.join("")}`;
  const bytes = hash("sha256", text, "buffer").subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
