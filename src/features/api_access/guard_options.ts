/** The options of guards that accept access tokens. */
import { FILLED, isText, type Rule } from "../../config/rules.ts";
import type { ListedGuard } from "../feature.ts";
import type { ApiAccessGuardOptions } from "./options.ts";

/** RFC 6749 section 3.3. */
export const isScope = (value: unknown) => isText(value) && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

const listOf = (isValid: (value: unknown) => boolean, wanted: string): Rule => (value, name) =>
  Array.isArray(value) && value.length > 0 && value.every(isValid)
    ? undefined
    : `\`${name}\` must be a list of ${wanted}.`;

export const GUARD: ListedGuard = {
  rules: {
    tokens: listOf(
      (value) => value === "session" || value === "access",
      '"session" and "access"; leave it out for sessions alone',
    ),
    scopes: listOf(isScope, 'scopes, such as ["orders:read"]; leave it out to require none'),
    audience: FILLED,
  } satisfies Record<keyof ApiAccessGuardOptions, Rule>,
  together({ tokens, scopes, audience, ...others }) {
    if (!tokens?.includes("access")) {
      return (scopes !== undefined || audience !== undefined) &&
        '`scopes` and `audience` are about access tokens: add `tokens: ["access"]`, or `["session", "access"]`.';
    }
    // An access token would pass whatever they say.
    const name = Object.keys(others).find((each) => each !== "respectRouteConfig");
    return name !== undefined && !(scopes !== undefined && tokens.includes("session")) &&
      `\`${name}\` is about sessions: name in \`scopes\` what an access token needs in its place, beside ` +
        '`tokens: ["session", "access"]`.';
  },
  unused: "`tokens`, `scopes` and `audience` need `apiAccess` in the configuration, which names the issuers.",
  security({ tokens = [], scopes = [] }) {
    if (!tokens.includes("access")) return undefined;
    const scheme = { type: "http", scheme: "bearer", description: "An access token (RFC 6750, RFC 9449)." };
    return { isAlone: !tokens.includes("session"), name: "accessToken", scheme, scopes };
  },
};
