/** The credentials provider with sessions in a database, which core does not do: it always makes a JWT. */
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import type { Answer } from "../../core/answer.ts";
import { callCore, type CoreOverrides } from "../../core/auth.ts";
import type { ProviderContext } from "../../core/context.ts";
import { FastifyAuthError } from "../../errors.ts";

/** Answers a sign-in with credentials. */
export async function handleCredentialsCallback(context: ProviderContext): Promise<Answer> {
  const { config, settings } = context;
  const inDatabase = settings.strategy === "database" && config.credentialsDatabaseSessions;
  return await callCore(context, inDatabase ? creatingRow(context) : {});
}

/**
 * Has core create a row where it would encode a JWT. By then `authorize()` and the `signIn` callback have
 * accepted the user. The application's `jwt` callback is not called, as with every other session in a
 * database.
 */
function creatingRow({ provider, config, settings }: ProviderContext): CoreOverrides {
  const { core } = config;
  // Set before core runs.
  let adapter: Adapter;
  let owner: AdapterUser;
  return {
    // The adapter of this request: its writes are undone, and its failures answered, as in every sign-in.
    wrapAdapter: (given) => adapter = given,
    callbacks: {
      async jwt({ token, user }) {
        owner = await requireUser(user.id!, provider.id, adapter);
        return token;
      },
    },
    jwt: {
      ...core.jwt,
      async encode(params) {
        if (params.salt !== settings.cookie.name) return await core.jwt!.encode!(params);
        const session = await adapter.createSession!({
          sessionToken: settings.generateSessionToken(),
          userId: owner.id,
          expires: new Date(Date.now() + settings.maxAge * 1000),
        });
        return session.sessionToken;
      },
    },
  };
}

/** The user of the database that `authorize()` has returned. */
async function requireUser(id: string, provider: string, adapter: Adapter): Promise<AdapterUser> {
  const user = await adapter.getUser!(id);
  // A database that compares texts with numbers finds user 1 for "1 or so".
  if (user && String(user.id) === id) return user;
  throw new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `authorize() of the provider "${provider}" returned a user that the adapter does not have. A session in ` +
      "the database belongs to a user in it: return the user of the adapter, with its `id`, and create it " +
      "with `adapter.createUser()` when the user registers.",
  );
}
