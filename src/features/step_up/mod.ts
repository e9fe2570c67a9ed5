/** Step-up: guards that require how and when a user signed in. */
import { strategyOf } from "../../config/adapter_problem.ts";
import { BOOLEAN } from "../../config/rules.ts";
import { later } from "../../utils/later.ts";
import type { Feature } from "../feature.ts";
import { ATTEMPT, claimsOfSignIn, SIGN_IN, signInClaims, toSignInCookie, withSignIn } from "./sign_in_record.ts";

const onGuard = later(async () => (await import("./step_up.ts")).refusalOf);

export const stepUp: Feature = {
  rules: { stepUp: BOOLEAN },
  configure({ core }) {
    const rowCookies = strategyOf(core) === "database" ? [SIGN_IN] : [];
    return {
      cookies: [ATTEMPT, ...rowCookies],
      rowCookies,
      onGuard,
      onSignIn: (claims, signIn) => withSignIn(claims, claimsOfSignIn(signIn, signIn.held)),
      // deno-lint-ignore require-await -- as the hook is typed
      async onRow(signIn) {
        const { cookies, heldToken, token, settings } = signIn;
        const claims = claimsOfSignIn(signIn, signInClaims(cookies, heldToken, settings));
        return [toSignInCookie({ ...claims, ...signIn.claims }, token, settings)];
      },
    };
  },
};
