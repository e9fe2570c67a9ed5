/** The passkeys of the signed-in user: listing, naming and removing them. */
import { Buffer } from "node:buffer";
import { fromAdapter } from "../../actions/account_rows.ts";
import type { ActionAuth, ActionRequest } from "../../actions/perform.ts";
import type { PasskeyAdapter } from "../../adapter/added_methods.ts";
import { FastifyAuthError } from "../../errors.ts";
import { assertNoLink } from "../../http/cross_site.ts";
import { invalid } from "../../utils/arguments.ts";
import { AAGUID } from "../../provider/webauthn/bridge.ts";
import { passkeyProviders } from "../../routes/webauthn.ts";
import type { SessionRequest } from "../../types.ts";
import { unpack } from "../../utils/unpack.ts";
import { assertOwn, passkeysOf, removeAccount, signedInUser } from "./actions.ts";
import { AUTHENTICATOR_NAMES } from "./authenticator_names.ts";
import type { ListedPasskey, UnlinkAccountOptions } from "./types.ts";

/** Characters of a name. */
const LONGEST_NAME = 64;

export async function listPasskeys(auth: ActionAuth, request: SessionRequest): Promise<ListedPasskey[]> {
  const { user, adapter } = await signedInUser(auth, request, "listPasskeys()");
  const names = unpack(AUTHENTICATOR_NAMES);
  return (await passkeysOf(user, adapter, auth, "listPasskeys()")).map(({ provider, row }) => {
    const transports = row.transports?.split(",") ?? [];
    const aaguid = transports.find((each) => AAGUID.test(each));
    const [, known] = aaguid === undefined ? [] : new RegExp(`^${aaguid} (.*)$`, "m").exec(names) ?? [];
    return {
      id: Buffer.from(row.credentialID, "base64").toString("base64url"),
      provider,
      name: row.name || known,
      synced: Boolean(row.credentialBackedUp),
      transports: transports.filter((each) => each !== aaguid),
    };
  });
}

export async function renamePasskey(auth: ActionAuth, request: ActionRequest, id: string, name: string): Promise<void> {
  const { user, adapter } = await signedInUser(auth, request, "renamePasskey()");
  assertNoLink(request, "renamePasskey()", false);
  assertOwn(request, auth);
  const { updateAuthenticator } = adapter as PasskeyAdapter;
  if (updateAuthenticator === undefined) {
    throw invalid(
      "renamePasskey()",
      "the adapter has no `updateAuthenticator({ credentialID, name })`, and no adapter of Auth.js keeps names.",
    );
  }
  if (typeof name !== "string") {
    throw new FastifyAuthError("FST_AUTHJS_BODY_INVALID", "The name of a passkey must be a text.");
  }
  const found = (await passkeysOf(user, adapter, auth, "renamePasskey()"))
    .find(({ row }) => row.credentialID === keyOf(id));
  if (found === undefined) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "The signed-in user has no such passkey.");
  }
  const { credentialID } = found.row;
  await fromAdapter(updateAuthenticator({ credentialID, name: name.trim().slice(0, LONGEST_NAME) || null }));
}

export async function removePasskey(
  auth: ActionAuth,
  request: ActionRequest,
  id: string,
  options: UnlinkAccountOptions = {},
): Promise<void> {
  await removeAccount(auth, request, options, {
    caller: "removePasskey()",
    what: "passkey",
    isMeant: ({ provider, providerAccountId }) =>
      providerAccountId === keyOf(id) && passkeyProviders(auth.instance).includes(provider),
  });
}

/** The id as core stores it. */
function keyOf(id: string): string {
  return Buffer.from(String(id), "base64url").toString("base64");
}
