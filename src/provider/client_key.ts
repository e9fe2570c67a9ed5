/** The key that a client authenticates with at the token endpoint (`private_key_jwt`). */
import type { Provider } from "@auth/core/providers";

type Part = Record<string, unknown>;

/**
 * Moves the application's key out of `options`: core merges these member by member, and a `CryptoKey` has no
 * members.
 */
export function keepClientKey(provider: Provider): Provider {
  const { options, ...own } = provider as unknown as Part & { options?: Part };
  const given = options?.token as Part | string | null | undefined;
  if (typeof given !== "object" || given?.clientPrivateKey === undefined) return provider;
  const shipped = typeof own.token === "string" ? { url: own.token } : own.token as Part | undefined;
  const { token: _token, ...rest } = options as Part;
  return { ...own, token: { ...shipped, ...given }, options: rest } as unknown as Provider;
}
