/** The user that is made of a provider's claims if it has no `profile`. */
import type { Provider } from "@auth/core/providers";
import type { Profile } from "@auth/core/types";

/**
 * Core's default for `profile` (`defaultProfile` of 0.41.3), which it does not export. If there is no id,
 * core makes one up from the user as well.
 */
export function defaultProfile(claims: Profile): Record<string, unknown> {
  const user = {
    id: claims.sub ?? claims.id,
    name: claims.name ?? claims.nickname ?? claims.preferred_username,
    email: claims.email,
    image: claims.picture,
  };
  return Object.fromEntries(Object.entries(user).filter(([, value]) => value !== undefined));
}

/**
 * Gives an OAuth provider without `profile` the default one, so that its users are checked as those of others:
 * what a userinfo endpoint answers may have no id, or a number. An ID token always has a `sub`.
 */
export function withDefaultProfile(provider: Provider): Provider {
  const { type, profile, options } = provider as { type?: string; profile?: unknown; options?: Options };
  if (type !== "oauth" || profile || options?.profile) return provider;
  return { ...provider, profile: defaultProfile } as unknown as Provider;
}

interface Options {
  readonly profile?: unknown;
}
