/** Bearer tokens: session tokens in `Authorization: Bearer`, and the route that issues them. */
import { lifetimesOf } from "../../config/lifetime.ts";
import { invalidConfig } from "../../errors.ts";
import type { Feature } from "../../instance/feature.ts";
import type { FastifyAuthConfig } from "../../types.ts";
import { bearerToken } from "./header.ts";

export const bearer: Feature = {
  routes: [{ action: "token", methods: ["POST"], provider: false, limited: "tokens" }],
  configure({ config, core }) {
    const { maxAge, tokenMaxAge } = lifetimesOf(core);
    const lifetime = lifetimeOf(config.bearer, Math.min(maxAge, tokenMaxAge));
    return {
      findToken: ({ authorization }) => bearerToken(authorization),
      scheme: "Bearer",
      handlers: {
        token: async (context) => await (await import("./token.ts")).handleToken(context, lifetime),
      },
    };
  },
};

/** In seconds. */
function lifetimeOf(option: FastifyAuthConfig["bearer"], longest: number): number {
  if (option === true) return longest;
  if (typeof option !== "object" || option === null) {
    throw invalidConfig("`bearer` must be true, false or an object such as `{ maxAge: 3600 }`.");
  }
  const { maxAge = longest, ...others } = option;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalidConfig(`\`bearer\` has no option \`${unknown}\`: write \`{ maxAge: 3600 }\`.`);
  }
  if (typeof maxAge === "number" && maxAge >= 1 && maxAge <= longest) return Math.floor(maxAge);
  throw invalidConfig(
    `\`bearer\` has a \`maxAge\` that is no number of seconds from 1 to ${longest}, the life of a session.`,
  );
}
