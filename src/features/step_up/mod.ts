/** Step-up: guards that require how and when a user signed in. */
import { BOOLEAN } from "../../config/rules.ts";
import { invalidConfig } from "../../errors.ts";
import type { Feature } from "../../instance/feature.ts";
import { later } from "../../utils/later.ts";

const onGuard = later(async () => (await import("./step_up.ts")).refusalOf);

export const stepUp: Feature = {
  configure({ config }) {
    const problem = BOOLEAN(config.stepUp, "stepUp");
    if (problem !== undefined) throw invalidConfig(problem);
    return { onGuard };
  },
};
