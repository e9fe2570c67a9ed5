/**
 * A database in a few maps, for tests that need one and do not test one.
 *
 * @module
 */
import type { Adapter, AdapterAccount, AdapterSession, AdapterUser, VerificationToken } from "@auth/core/adapters";

/** What the adapter keeps, for a test to look at. */
export interface MemoryTables {
  readonly users: Map<string, AdapterUser>;
  readonly accounts: AdapterAccount[];
  readonly sessions: Map<string, AdapterSession>;
  readonly tokens: VerificationToken[];
}

/** Makes an adapter over tables that can be looked at. */
export function memoryAdapter(
  tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] },
): Required<Pick<Adapter, MethodName>> {
  const { users, accounts, sessions, tokens } = tables;
  const userOf = (id: string | undefined) => (id === undefined ? undefined : users.get(id)) ?? null;
  const accountOf = (providerAccountId: string, provider?: string) =>
    accounts.find((account) =>
      account.providerAccountId === providerAccountId &&
      (provider === undefined || account.provider === provider)
    ) ?? null;
  return {
    createUser(user) {
      users.set(user.id, user);
      return user;
    },
    getUser: (id) => userOf(id),
    getUserByEmail: (email) => [...users.values()].find((user) => user.email === email) ?? null,
    getUserByAccount: ({ providerAccountId, provider }) => userOf(accountOf(providerAccountId, provider)?.userId),
    updateUser(user) {
      const updated = { ...users.get(user.id)!, ...user } as AdapterUser;
      users.set(user.id, updated);
      return updated;
    },
    linkAccount(account) {
      accounts.push(account);
      return account;
    },
    createSession(session) {
      sessions.set(session.sessionToken, session);
      return session;
    },
    getSessionAndUser(token) {
      const session = sessions.get(token);
      const user = userOf(session?.userId);
      return session && user ? { session: { ...session }, user } : null;
    },
    updateSession(session) {
      const updated = { ...sessions.get(session.sessionToken)!, ...session };
      sessions.set(session.sessionToken, updated);
      return updated;
    },
    deleteSession(token) {
      sessions.delete(token);
      return null;
    },
    createVerificationToken(token) {
      tokens.push(token);
      return token;
    },
    useVerificationToken({ identifier, token }) {
      const index = tokens.findIndex((each) => each.identifier === identifier && each.token === token);
      return index === -1 ? null : tokens.splice(index, 1)[0]!;
    },
    getAccount: (providerAccountId, provider) => Promise.resolve(accountOf(providerAccountId, provider)),
    getAuthenticator: () => Promise.resolve(null),
    createAuthenticator: (authenticator) => Promise.resolve(authenticator),
    listAuthenticatorsByUserId: () => Promise.resolve([]),
    updateAuthenticatorCounter: () => Promise.reject(new Error("no authenticators are kept here")),
  };
}

type MethodName =
  | "createUser"
  | "getUser"
  | "getUserByEmail"
  | "getUserByAccount"
  | "updateUser"
  | "linkAccount"
  | "createSession"
  | "getSessionAndUser"
  | "updateSession"
  | "deleteSession"
  | "createVerificationToken"
  | "useVerificationToken"
  | "getAccount"
  | "getAuthenticator"
  | "createAuthenticator"
  | "listAuthenticatorsByUserId"
  | "updateAuthenticatorCounter";
