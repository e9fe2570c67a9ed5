/** The options of guards that require how and when a user signed in. */
import type { Rule } from "../../config/rules.ts";
import type { ListedGuard } from "../../instance/feature.ts";
import type { StepUpGuardOptions } from "./options.ts";

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
