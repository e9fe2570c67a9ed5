/** The options of guards that require how and when users signed in. */
import type { Rule } from "../../config/rules.ts";
import type { ListedGuard } from "../feature.ts";

/** The option by which guards can require how and when users signed in. */
export interface StepUpConfig {
  /**
   * Whether to keep how and when users signed in (the claims `auth_time`, `acr` and `amr` of the ID token), for guards
   * with `maxAge`, `acr` or `amr`: in the session token, or with the strategy "database" in a cookie that is signed for
   * that session.
   * @default false
   */
  stepUp?: boolean;
}

/** How and when a user must have signed in to pass a guard. */
export interface StepUpGuardOptions {
  /**
   * How long ago the user may have been authenticated at most, in seconds. Otherwise a browser that requests a page is
   * sent to sign in again, with `max_age`; other requests get a 401 (`FST_AUTHJS_STEP_UP_REQUIRED`). Needs
   * `stepUp: true` in the configuration, as `acr` and `amr` do.
   * @default any time ago
   */
  maxAge?: number;
  /**
   * The authentication context class, or several of which one is enough: the claim `acr` of the ID token. It is asked
   * for as `acr_values`.
   * @default any
   */
  acr?: string | readonly string[];
  /**
   * The authentication methods, all of which must have been used, such as `"mfa"` or `"hwk"` (RFC 8176): the claim
   * `amr` of the ID token.
   * @default any
   */
  amr?: string | readonly string[];
}

/** A value of `acr` or `amr`: in a request and a challenge, spaces separate several. */
const NAME = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const named: Rule = (value, name) => {
  const values = [value].flat();
  if (values.length > 0 && values.every((each) => typeof each === "string" && NAME.test(each))) return;
  return `\`${name}\` must name a value without spaces; leave it out to accept any.`;
};

export const GUARD: ListedGuard = {
  rules: {
    maxAge: (value, name) =>
      Number.isSafeInteger(value) && Number(value) >= 1
        ? undefined
        : `\`${name}\` must be a whole number of seconds from 1; leave it out to accept any age.`,
    acr: named,
    amr: named,
  } satisfies Record<keyof StepUpGuardOptions, Rule>,
  unused:
    "`maxAge`, `acr` and `amr` need `stepUp: true` in the configuration, by which it is kept how and when users " +
    "signed in.",
  code: "FST_AUTHJS_STEP_UP_REQUIRED",
};
