/**
 * Core's check cookies, which no browser has: for each call their values are sealed as core expects them. The
 * browser has one cookie for each attempt (`callback/attempts.ts`).
 */
import type { AuthConfig } from "@auth/core";
import type { User } from "@auth/core/types";
import { decode } from "../jwt/codec.ts";
import { seal } from "../jwt/jwe.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import type { ProviderContext } from "./context.ts";

/** What one sign-in is checked by when it ends: of a provider, or of a passkey. */
export interface Checks {
  readonly state?: string | undefined;
  readonly pkce?: string | undefined;
  readonly nonce?: string | undefined;
  readonly challenge?: string | undefined;
  readonly user?: User | undefined;
}

const CHALLENGE = "fastify-authjs.challenge";

export const CHECK_COOKIES: NonNullable<AuthConfig["cookies"]> = {
  state: { name: "fastify-authjs.state" },
  pkceCodeVerifier: { name: "fastify-authjs.pkce" },
  nonce: { name: "fastify-authjs.nonce" },
  webauthnChallenge: { name: CHALLENGE },
};

/** What core seals the content of the cookie of a challenge for, once more (0.41.3). */
const CHALLENGE_SALT = "encodedWebauthnChallenge";

/** The user under whom a passkey is registered, whom core writes into the cookie of the challenge alone. */
export async function userToRegister(
  cookies: readonly SetCookie[],
  { settings: { jwt: { secret } } }: ProviderContext,
): Promise<User | undefined> {
  const token = cookies.find(({ name }) => name === CHALLENGE)?.value;
  const cookie = await decode({ token: token ?? "", secret, salt: CHALLENGE });
  const content = await decode({ token: cookie?.value as string ?? "", secret, salt: CHALLENGE_SALT });
  return content?.registerData as User | undefined;
}

export function checkHeader(
  { challenge, user: registerData, ...checks }: Checks,
  { provider, settings: { jwt } }: ProviderContext,
): string {
  const [secret] = [jwt.secret].flat();
  const sealFor = (salt: string, content: object) => seal(JSON.stringify(content), secret!, salt);
  const content = challenge && sealFor(CHALLENGE_SALT, { challenge, registerData });
  let header = "";
  for (const [check, value] of Object.entries({ ...checks, challenge: content })) {
    const name = `fastify-authjs.${check}`;
    if (value !== undefined) header += `${name}=${sealFor(name, { value, provider: provider.id })}; `;
  }
  return header;
}
