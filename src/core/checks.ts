/**
 * Core's check cookies, which no browser has: for each call their values are taken out of core's answer, or
 * sealed as core expects them. The browser has one cookie for each attempt (`callback/attempts.ts`).
 */
import type { AuthConfig } from "@auth/core";
import type { JWT } from "@auth/core/jwt";
import type { User } from "@auth/core/types";
import { decode, encode } from "../jwt/codec.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import type { Checks } from "./answer.ts";
import type { ProviderContext } from "./context.ts";

/** The names of core's check cookies. */
const NAMES = {
  state: "fastify-authjs.state",
  pkce: "fastify-authjs.pkce",
  nonce: "fastify-authjs.nonce",
  challenge: "fastify-authjs.challenge",
} as const;

/** The same, as core is told. */
export const CHECK_COOKIES: NonNullable<AuthConfig["cookies"]> = {
  state: { name: NAMES.state },
  pkceCodeVerifier: { name: NAMES.pkce },
  nonce: { name: NAMES.nonce },
  webauthnChallenge: { name: NAMES.challenge },
};

/** What core seals the content of the cookie of a challenge for, once more (0.41.3). */
const CHALLENGE_SALT = "encodedWebauthnChallenge";

/** The checks that core's answer sets. */
export async function checksIn(cookies: readonly SetCookie[], context: ProviderContext): Promise<Checks> {
  const { settings: { jwt: { secret } } } = context;
  const open = async (name: string) => {
    const { value: token = "" } = cookies.find((cookie) => cookie.name === name) ?? {};
    return (await decode({ token, secret, salt: name }))?.value as string | undefined;
  };
  const content = await decode({ token: await open(NAMES.challenge) ?? "", secret, salt: CHALLENGE_SALT });
  const { challenge, registerData: user } = (content ?? {}) as { challenge?: string; registerData?: User };
  return { pkce: await open(NAMES.pkce), nonce: await open(NAMES.nonce), challenge, user };
}

/** The check cookies for core, as a Cookie header. The same call opens them. */
export async function checkHeader(
  { challenge, user: registerData, ...checks }: Checks,
  { provider, settings: { jwt: { secret } } }: ProviderContext,
): Promise<string> {
  const seal = (token: JWT, salt: string) => encode({ token, secret, salt, maxAge: 60 });
  const content = challenge && await seal({ challenge, registerData }, CHALLENGE_SALT);
  const values: Readonly<Record<string, string | undefined>> = { ...checks, challenge: content };
  let header = "";
  for (const [check, name] of Object.entries(NAMES)) {
    const { [check]: value } = values;
    if (value !== undefined) header += `${name}=${await seal({ value, provider: provider.id }, name)}; `;
  }
  return header;
}
