/** The `accountsOf` option. */
import type { Adapter } from "@auth/core/adapters";
import { bindAdapter } from "../adapter/bind.ts";
import { FastifyAuthError } from "../errors.ts";
import type { AccountRow, FastifyAuthConfig } from "../types.ts";
import { requireTimeout } from "../utils/deadline.ts";

/** Reads the accounts of a user. */
export type AccountsOf = (userId: string) => Promise<readonly AccountRow[]>;

/** The function, called as the methods of the adapter are: with a deadline, and no secrets in its errors. */
export function bindAccountsOf(
  { accountsOf, adapterTimeout }: Pick<FastifyAuthConfig, "accountsOf" | "adapterTimeout">,
): AccountsOf | undefined {
  if (accountsOf === undefined) return undefined;
  if (typeof accountsOf !== "function") {
    throw new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      "`accountsOf` must be a function that returns the accounts of a user: `(userId) => prisma.account.findMany({ " +
        "where: { userId } })`.",
    );
  }
  const bound = bindAdapter({ accountsOf } as Adapter, {
    timeout: requireTimeout("adapterTimeout", adapterTimeout),
  });
  return (bound as unknown as { accountsOf: AccountsOf }).accountsOf;
}
