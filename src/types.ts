/** @module */
import type { AuthConfig } from "@auth/core";
import type { Session } from "@auth/core/types";
export type { Account, DefaultSession, Profile, Session, User } from "@auth/core/types";
export interface FastifyAuthOptions {
  origin?: string;
  providerTimeout?: number;
  adapterTimeout?: number;
}
export interface FastifyAuthConfig extends Omit<AuthConfig, "raw">, FastifyAuthOptions {}
export type GetSessionResult = Promise<Session | null>;
