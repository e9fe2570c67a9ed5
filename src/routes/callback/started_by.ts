/** Who was signed in when a sign-in began: only to that user core links the account. */
import { hash } from "node:crypto";
import type { CoreCall } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { ownerOf } from "../../session/owner.ts";
import { readSignedIn } from "../session_change.ts";
import type { Start } from "./attempts.ts";

/**
 * Names the user to whom core would link an account: by the id, or for a session in a database by a digest of
 * its token, so that a sign-in can begin while the database is down.
 */
export async function signedInUser(context: ProviderContext): Promise<string | undefined> {
  const { config, settings } = context;
  const { token } = context.held;
  if (config.core.adapter === undefined || token === "") return undefined;
  return settings.strategy === "jwt" ? await ownerOf(token, settings) : hash("sha256", token, "base64url");
}

/**
 * The user to whom core links the account: who is signed in, if that user began this sign-in. Any other
 * session is replaced.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_UNAVAILABLE` if the adapter fails.
 */
export async function linkedUser(
  { startedBy }: Start,
  context: ProviderContext,
): Promise<Pick<CoreCall, "signedIn">> {
  // Without a check another browser may have begun it.
  const isChecked = context.provider.checks.some((check) => check !== "none");
  const isSame = isChecked && startedBy !== undefined && await signedInUser(context) === startedBy;
  return { signedIn: isSame ? await readSignedIn(context) : undefined };
}
