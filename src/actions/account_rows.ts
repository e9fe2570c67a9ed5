/** The rows of accounts, read for the public functions. */
import type { ActionAuth } from "./perform.ts";
import type { AccountListAdapter, ListedAccount } from "../adapter/added_methods.ts";
import { unavailableError } from "../adapter/failure.ts";
import { FastifyAuthError } from "../errors.ts";
import { invalid } from "../utils/arguments.ts";
import { presentedToken, readSession } from "../instance/read_session.ts";
import { signedInBy } from "../session/open.ts";
import type { SessionRequest } from "../types.ts";

export async function rowsOf({ id }: { readonly id: string }, { instance }: ActionAuth, caller: string) {
  const { listAccountsByUserId } = instance.config.core.adapter as Partial<AccountListAdapter>;
  if (listAccountsByUserId === undefined) {
    throw invalid(
      caller,
      "the adapter has no `listAccountsByUserId()`, without which the accounts of a user are not found. Add it with " +
        "`withAccountList(adapter, query)`.",
    );
  }
  const rows = await fromAdapter(listAccountsByUserId(id));
  if (!Array.isArray(rows) || !rows.every(isAccount)) {
    throw invalid(
      caller,
      "`listAccountsByUserId()` must return an array of rows with `userId`, `provider` and `providerAccountId`.",
    );
  }
  if (rows.every(({ userId }) => String(userId) === String(id))) return rows;
  throw invalid(
    caller,
    "`listAccountsByUserId()` returned an account of another user: select by the user id that it is given.",
  );
}

function isAccount(row: unknown): boolean {
  const { userId, provider, providerAccountId } = (row ?? {}) as Partial<ListedAccount>;
  return userId !== undefined && userId !== null && typeof provider === "string" &&
    typeof providerAccountId === "string";
}

/** Who is signed in, without an id if the database does not know the user; `undefined` if there is no session. */
export async function signedInAs({ config }: ActionAuth, request: SessionRequest) {
  const { session, failure } = await readSession(request, config);
  if (failure !== undefined) throw failure;
  if (session === null) return undefined;
  const { cookie, settings } = presentedToken(request, config)!;
  return { id: (await fromAdapter(signedInBy(cookie.token, settings)))?.sub, settings };
}

/** Waits for the adapter, or the store. A client learns only that it failed (503). */
export async function fromAdapter<T>(result: T | PromiseLike<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof FastifyAuthError && error.code !== "FST_AUTHJS_UNAVAILABLE") throw error;
    throw Object.assign(unavailableError(error), { cause: error });
  }
}
