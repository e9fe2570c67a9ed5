/** The accounts that a signed-in user signs in with: linking one, unlinking one, listing them. */
import type { Adapter, AdapterAccount, AdapterUser } from "@auth/core/adapters";
import type { FastifyRequest } from "fastify";
import { type ActionAuth, type ActionRequest, parametersOf, perform, urlOf } from "../../actions/perform.ts";
import { fromAdapter, rowsOf, signedInAs } from "../../actions/account_rows.ts";
import { findPasskeys, type ListedAccount, type PasskeyAdapter } from "../../adapter/added_methods.ts";
import type { ProviderContext } from "../../core/context.ts";
import { FastifyAuthError } from "../../errors.ts";
import { pathsIn } from "../../instance/mount.ts";
import type { GuardedReply, SessionRequest } from "../../types.ts";
import { assertObject, invalid } from "../../utils/arguments.ts";
import { assertNoLink, assertOwnRequest } from "../../http/cross_site.ts";
import { requireOrigin } from "../../http/origin.ts";
import { beginSignIn } from "../../routes/signin.ts";
import { passkeyProviders } from "../../routes/webauthn.ts";
import { eventsOf } from "../../telemetry/events.ts";
import type { LinkAccountOptions, LinkAccountResult, LinkedAccount, UnlinkAccountOptions } from "./types.ts";

export async function linkAccount(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  provider: string,
  options: LinkAccountOptions = {},
): Promise<LinkAccountResult | void> {
  assertObject(options, "options of linkAccount()", ["authorizationParams", "callbackUrl", "redirect"]);
  const { authorizationParams = {}, callbackUrl, redirect } = options;
  const query = parametersOf(authorizationParams, "linkAccount()");
  const { user, settings } = await signedInUser(auth, request, "linkAccount()");
  if (settings.use === "header") {
    throw new FastifyAuthError(
      "FST_AUTHJS_UNAUTHENTICATED",
      "An account is linked in a browser that is signed in with its session cookie, not with a bearer token.",
    );
  }
  const { type, checks = [], formPost } = auth.instance.config.providers.get(provider) ?? {};
  if (type !== "oauth" && type !== "oidc") {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", `There is no OAuth provider "${provider}".`);
  }
  if (!["pkce", "state", "nonce"].some((check) => checks.includes(check))) {
    throw invalid("linkAccount()", `give "${provider}" a check: \`checks: ["pkce", "state"]\`.`);
  }
  if (formPost && settings.cookie.options.sameSite !== "none") {
    throw invalid(
      "linkAccount()",
      `the site of "${provider}" posts its answer (\`response_mode=form_post\`), and browsers send the session ` +
        'cookie with that only if it has `sameSite: "none"`.',
    );
  }
  const outcome = await perform(auth, request, reply, {
    what: "Linking",
    action: "signin",
    provider,
    query,
    fields: {},
    callbackUrl,
    handle: (context) => beginSignIn(context as ProviderContext, String(user.id)),
    isSent: redirect !== false,
  });
  if (redirect === false) return { url: urlOf(outcome) };
}

export async function listAccounts(auth: ActionAuth, request: SessionRequest): Promise<LinkedAccount[]> {
  const { user } = await signedInUser(auth, request, "listAccounts()");
  const rows = await rowsOf(user, auth, "listAccounts()");
  return rows.map(({ provider, providerAccountId, type }) => ({ provider, providerAccountId, type }));
}

export async function unlinkAccount(
  auth: ActionAuth,
  request: ActionRequest,
  account: Pick<LinkedAccount, "provider" | "providerAccountId">,
  options: UnlinkAccountOptions = {},
): Promise<void> {
  assertObject(account, "account of unlinkAccount()");
  await removeAccount(auth, request, options, {
    caller: "unlinkAccount()",
    what: "account",
    isMeant: ({ provider, providerAccountId }) =>
      provider === account.provider && providerAccountId === account.providerAccountId,
  });
}

type Removal = Readonly<{ caller: string; what: "account" | "passkey"; isMeant: (row: ListedAccount) => boolean }>;

/** Deletes the account unless the user could not sign in any more, and with that of a passkey the passkey. */
export async function removeAccount(
  auth: ActionAuth,
  request: ActionRequest,
  options: UnlinkAccountOptions,
  { caller, what, isMeant }: Removal,
): Promise<void> {
  assertObject(options, `options of ${caller}`, ["allowGet", "otherSignInMethod"]);
  const { otherSignInMethod = false, allowGet = false } = options;
  // It would count as true.
  if (otherSignInMethod as unknown instanceof Promise) {
    throw invalid(caller, "`otherSignInMethod` is a promise: await it.");
  }
  const { config } = auth.instance;
  const { user, adapter } = await signedInUser(auth, request, caller);
  assertOwn(request, auth, allowGet === true ? undefined : caller);
  if (adapter.unlinkAccount === undefined) throw invalid(caller, "the adapter has no `unlinkAccount()`.");
  const list = async (): Promise<readonly ListedAccount[]> => {
    if (what === "account" || "listAccountsByUserId" in adapter) return await rowsOf(user, auth, caller);
    // An adapter that does not list accounts knows of passkeys alone.
    const passkeys = await passkeysOf(user, adapter, auth, caller);
    return passkeys.map(({ provider, row: { providerAccountId } }) => ({
      provider,
      providerAccountId,
      type: "webauthn",
      userId: user.id,
    }));
  };
  const rows = await list();
  const row = rows.find(isMeant);
  if (row === undefined) throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", `The signed-in user has no such ${what}.`);
  // A link can be mailed, though to no address that was never verified: it may be that of another person. The adapter
  // keeps a Date, some schemas a boolean.
  const hasMail = Boolean(user.email) && Boolean(user.emailVerified) &&
    [...config.providers.values()].some(({ type }) => type === "email");
  const hasOther = otherSignInMethod || hasMail;
  // The provider of an account may have been removed from the configuration.
  const isUsable = ({ provider }: ListedAccount) => config.providers.has(provider);
  if (!hasOther && !rows.some((each) => each !== row && isUsable(each))) throw lastMethod();
  const { provider, providerAccountId } = row;
  await fromAdapter(adapter.unlinkAccount({ provider, providerAccountId }));
  if (hasOther || (await list()).some(isUsable)) {
    if (config.providers.get(provider)?.type === "webauthn") {
      await fromAdapter((adapter as PasskeyAdapter).deleteAuthenticator?.(providerAccountId));
    }
    const { mount: mountPath } = pathsIn(request.server, auth.instance) ?? {};
    const publish = eventsOf(request as unknown as FastifyRequest, { mountPath, provider });
    return publish?.("fastify-authjs:unlink", { userId: String(user.id), accountId: providerAccountId });
  }
  // Another request has unlinked the other one meanwhile.
  await fromAdapter(adapter.linkAccount!(row as unknown as AdapterAccount));
  throw lastMethod();
}

/** Refuses what a page of another origin sent, and links if a `caller` is not for them. */
export function assertOwn(request: ActionRequest, { instance: { config } }: ActionAuth, caller?: string) {
  if (caller !== undefined) assertNoLink(request, caller);
  assertOwnRequest(request, requireOrigin(request, config.origin).href, config.trustedOrigins);
}

function lastMethod(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_LAST_SIGN_IN_METHOD",
    "Without this account the user could not sign in any more. Link another one first.",
  );
}

/** @throws {FastifyAuthError} If no user of the adapter is signed in. */
export async function signedInUser(auth: ActionAuth, request: SessionRequest, caller: string) {
  await auth.instance.requireReady();
  const { adapter } = auth.instance.config.core;
  if (adapter === undefined) throw invalid(caller, "set an `adapter`: accounts are kept in its database.");
  if (adapter.getUser === undefined) throw invalid(caller, "the adapter has no `getUser()`.");
  const signedIn = await signedInAs(auth, request);
  const user = signedIn?.id === undefined ? null : await fromAdapter(adapter.getUser(signedIn.id));
  if (user !== null) return { user, adapter, settings: signedIn!.settings };
  throw new FastifyAuthError(
    "FST_AUTHJS_UNAUTHENTICATED",
    signedIn === undefined
      ? "There is no session. Sign in first."
      : "The signed-in user is not in the adapter's database, so there are no accounts.",
  );
}

export async function passkeysOf({ id }: AdapterUser, adapter: Adapter, auth: ActionAuth, caller: string) {
  const providers = passkeyProviders(auth.instance);
  if (providers.length === 0) throw invalid(caller, "there is no provider for passkeys.");
  return await fromAdapter(findPasskeys(adapter, id, providers));
}
