/** The cookies of step-up. */
import type { CookieDefinition } from "../../config/cookies.ts";

/** A sign-in that a guard has begun. */
export const ATTEMPT: CookieDefinition = { name: "step-up" };

/** How and when the user of a session in a database signed in. */
export const SIGN_IN: CookieDefinition = { name: "sign-in", prefix: "__Secure-" };
