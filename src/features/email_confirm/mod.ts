/** Confirming a sign-in by e-mail: at once in the browser that asked for the link, with a click in any other. */
import { BOOLEAN } from "../../config/rules.ts";
import type { ProviderContext } from "../../core/context.ts";
import type { Feature } from "../feature.ts";

/** The option of the page that confirms a sign-in by e-mail. */
export interface EmailConfirmConfig {
  /**
   * Whether a mailed sign-in link opens a page that confirms the sign-in: at once in the browser that asked for the
   * link, with one click in any other. Programs that open links in mails, to look for viruses or to show a preview,
   * then do not use the link up. With `false` opening the link signs in.
   * @default true
   */
  emailConfirm?: boolean;
}

const COOKIE = { name: "email-confirm" };

export const emailConfirm: Feature = {
  rules: { emailConfirm: BOOLEAN },
  configure: () => ({
    cookies: [COOKIE],
    async onAnswer(context, answer) {
      if (context.provider?.type !== "email") return await answer();
      const { confirmSignIn } = await import("./confirm.ts");
      return await confirmSignIn(context as ProviderContext, answer, COOKIE);
    },
  }),
};
