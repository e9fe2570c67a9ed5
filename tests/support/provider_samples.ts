/**
 * All samples.
 *
 * @module
 */
import type { OAuthProviderType } from "fastify-authjs/providers";
import { CODE, type ProviderSample, TOKENS } from "./provider_sample.ts";
import { OAUTH_PROVIDERS_A_M } from "./provider_samples_oauth_a_m.ts";
import { OAUTH_PROVIDERS_M_Z } from "./provider_samples_oauth_m_z.ts";
import { OIDC_PROVIDERS } from "./provider_samples_oidc.ts";

/** Providers that are listed beside those of OAuth and OpenID Connect. */
type OtherProvider =
  | "forwardemail"
  | "loops"
  | "mailgun"
  | "nodemailer"
  | "passkey"
  | "postmark"
  | "resend"
  | "sendgrid"
  | "webauthn";

/** Providers that cannot be used, and whose samples say what they would expect. */
export const UNUSABLE_PROVIDERS = {
  // Documented at https://learn.microsoft.com/azure/devops/integrate/get-started/authentication/azure-devops-oauth
  "azure-devops": {
    authorize: {
      url: "https://app.vssps.visualstudio.com/oauth2/authorize",
      params: { scope: "vso.profile" },
      responseType: "Assertion",
    },
    checks: ["pkce"],
    token: {
      url: "https://app.vssps.visualstudio.com/oauth2/authorize",
      auth: "body",
      params: {
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        client_assertion: "client-secret-5678",
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        assertion: CODE,
      },
      answer: { ...TOKENS, token_type: "jwt-bearer" },
    },
    userinfo: [],
    user: { id: "never" },
    note: "Cannot be used: Auth.js no longer makes the token request that it needs, and Azure DevOps has taken no " +
      "new applications since April 2025. Use `microsoft-entra-id`.",
  },
} satisfies Record<string, ProviderSample>;

/** Every OAuth and OpenID Connect provider that signs users in, by the name of its module. */
export const PROVIDER_SAMPLES: Readonly<
  Record<Exclude<OAuthProviderType, OtherProvider | keyof typeof UNUSABLE_PROVIDERS>, ProviderSample>
> = {
  ...OIDC_PROVIDERS,
  ...OAUTH_PROVIDERS_A_M,
  ...OAUTH_PROVIDERS_M_Z,
};
