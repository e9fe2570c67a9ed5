/**
 * What is wrong with some providers as core ships them.
 *
 * @module
 */
import type { ProviderSample } from "./provider_sample.ts";

/** What goes wrong: an error, or something in the authorization request. */
export type Problem =
  | { fails: RegExp; letIn?: Pick<ProviderSample, "checks"> }
  | { asks(url: URL): unknown; for: unknown };

/**
 * What goes wrong with the providers as core ships them: the reason for every entry of `src/provider/workarounds.ts`. One
 * that fails here has been fixed in core, and its entry can go. Where `letIn` is given, the provider takes HTTP Basic
 * and these checks, which it does not document: core fails all the same.
 */
export const AS_SHIPPED: Record<string, Problem> = {
  "azure-ad-b2c": { fails: /did not provide a userinfo endpoint/ },
  battlenet: { asks: ({ searchParams }) => searchParams.get("state"), for: null },
  bungie: { fails: /bungieNetUser/ },
  "click-up": { letIn: { checks: ["state"] }, fails: /"token_type" property/ },
  dribbble: { asks: ({ searchParams }) => searchParams.get("scope"), for: "undefined" },
  faceit: { fails: /"exp" \(expiration time\) claim missing/ },
  foursquare: { letIn: { checks: ["pkce"] }, fails: /"token_type" property/ },
  instagram: { fails: /"token_type" property/ },
  mailchimp: { letIn: { checks: ["pkce"] }, fails: /"token_type" property/ },
  mailru: { asks: ({ searchParams }) => searchParams.get("state"), for: null },
  medium: { letIn: { checks: ["pkce"] }, fails: /"scope" property must be a string/ },
  naver: { asks: ({ searchParams }) => searchParams.get("state"), for: null },
  netsuite: { fails: /missing both `issuer` and `userinfo`/ },
  notion: { asks: ({ searchParams }) => searchParams.get("redirect_uri"), for: "undefined" },
  threads: { fails: /"token_type" property/ },
  todoist: { fails: /missing both `issuer` and `userinfo`/ },
  vk: { fails: /"token_type" property/ },
  wechat: { asks: ({ hash }) => hash, for: "" },
};
