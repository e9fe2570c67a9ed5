/** Has a sign-in with an OpenID Provider keep which session there it was made from. */
import type { AuthConfig } from "@auth/core";
import type { RequestContext } from "../core/context.ts";
import {
  keepProviderSession,
  type KeptParts,
  keptParts,
  providerSessionAfter,
  type SignedIn,
  tagFor,
} from "../session/provider_session.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/**
 * The context of a sign-in or an update of the session, where `providerSignOut` or `backchannelLogout` is
 * set.
 */
export function keepingProviderSession<Context extends RequestContext>(context: Context): Context {
  const { config, settings, provider } = context;
  if (!settings.keepsProviderSessions) return context;
  const { callbacks = {} } = config.core;
  const parts = keptParts(config, settings.strategy);
  if (settings.strategy === "jwt") {
    return withCore(context, { callbacks: { ...callbacks, jwt: keepProviderSession(callbacks.jwt, parts) } });
  }
  return provider?.type === "oidc" ? taggingRows(context, callbacks, parts) : context;
}

/**
 * Names the provider session at the end of the row's session token. Core makes that after the `signIn`
 * callback.
 */
function taggingRows<Context extends RequestContext>(
  context: Context,
  callbacks: Partial<Callbacks>,
  parts: KeptParts,
): Context {
  const { config: { core: { session } }, settings } = context;
  let tag = "";
  const generateSessionToken = () => settings.generateSessionToken(tag);
  const tagging = { ...context, settings: { ...settings, generateSessionToken } };
  return withCore(tagging, {
    session: { ...session, generateSessionToken },
    callbacks: {
      ...callbacks,
      signIn(params) {
        const signedIn = providerSessionAfter(params as SignedIn, parts);
        if (signedIn !== undefined) tag = tagFor(signedIn);
        if (signedIn?.sub !== params.account?.providerAccountId) warnOfOtherId(context);
        return callbacks.signIn ? callbacks.signIn(params) : true;
      },
    },
  });
}

function warnOfOtherId({ provider, config, warnOnce }: RequestContext): void {
  if (config.logoutTokens === undefined) return;
  warnOnce(
    `account id of ${provider!.id}`,
    `\`profile()\` of "${provider!.id}" returns another \`id\` than the \`sub\` of the ID token, by which ` +
      "`backchannelLogout` finds the user: the provider's logouts do not end sessions. Return `profile.sub` as `id`.",
    "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT",
  );
}

function withCore<Context extends RequestContext>(context: Context, changed: Partial<AuthConfig>): Context {
  const { config } = context;
  return { ...context, config: { ...config, core: { ...config.core, ...changed } } };
}
