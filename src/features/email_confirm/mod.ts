/** Confirming a sign-in by e-mail: at once in the browser that asked for the link, with a click in any other. */
import { BOOLEAN } from "../../config/rules.ts";
import type { ProviderContext } from "../../core/context.ts";
import type { Feature } from "../../instance/feature.ts";
import { COOKIE } from "./browser.ts";

export const emailConfirm: Feature = {
  rules: { emailConfirm: BOOLEAN },
  configure: () => ({
    cookies: [COOKIE],
    async onAnswer(context, answer) {
      if (context.provider?.type !== "email") return await answer();
      const { confirmSignIn } = await import("./confirm.ts");
      return await confirmSignIn(context as ProviderContext, answer);
    },
  }),
};
