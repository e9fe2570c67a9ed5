/** What a feature adds to guards. */
import type { FastifyAuthError } from "../errors.ts";
import type { FeatureGuardOptions } from "../features/mod.ts";
import type { FastifyAuthConfig, GuardedReply, GuardedRequest } from "../types.ts";

export interface GuardHooks {
  /**
   * Why a signed-in user does not pass a guard with options of features; `undefined` if the user does. It is not
   * asked by other guards.
   */
  onGuard?(guarded: Guarded): Promise<GuardRefusal | undefined>;
}

/** A request of a signed-in user to a guarded route. */
export interface Guarded {
  readonly request: GuardedRequest;
  readonly config: FastifyAuthConfig;
  /** Those of the guard. */
  readonly options: FeatureGuardOptions;
}

/** Why a user who is signed in has to sign in again. */
export interface GuardRefusal {
  /** For clients that show no pages. */
  readonly error: FastifyAuthError;
  /** What their challenge has after the scheme. */
  readonly challenge: string;
  /**
   * Has a browser sign in as required.
   *
   * @returns Whether the reply was sent; otherwise the sign-in page is to be shown.
   * @throws {FastifyAuthError} If that would not help.
   */
  signIn(reply: GuardedReply): Promise<boolean>;
}
