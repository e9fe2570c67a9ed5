/**
 * The OpenID Connect providers.
 *
 * @module
 */
import { CLIENT, type Json, type ProviderSample, type ProviderSamples, TOKENS } from "./provider_sample.ts";

interface Endpoints {
  authorization: string;
  token: string;
  userinfo?: string;
}

/** A provider that is found by discovery; endpoints are given in full or below the issuer. */
function discovered(
  issuer: string,
  { authorization, token, userinfo }: Endpoints,
  { authorize, token: ownToken, ...rest }:
    & Omit<ProviderSample, "authorize" | "token" | "documents">
    & { authorize?: Record<string, string>; token?: Partial<ProviderSample["token"]>; documents?: Json },
): ProviderSample {
  const base = issuer.replace(/\/$/, "");
  const at = (endpoint: string) => endpoint.startsWith("/") ? base + endpoint : endpoint;
  const document: Json = {
    issuer,
    authorization_endpoint: at(authorization),
    token_endpoint: at(token),
    jwks_uri: `${base}/keys`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [rest.idTokenAlgorithm ?? "RS256"],
  };
  if (userinfo !== undefined) document.userinfo_endpoint = at(userinfo);
  return {
    authorize: { url: at(authorization), params: { scope: "openid profile email", ...authorize } },
    token: { url: at(token), auth: "basic", answer: TOKENS, ...ownToken },
    documents: { [`${base}/.well-known/openid-configuration`]: document },
    ...rest,
  } as ProviderSample;
}

/** The claims most providers give. */
const ADA = {
  sub: "ada-1815",
  name: "Ada Lovelace",
  given_name: "Ada",
  family_name: "Lovelace",
  preferred_username: "ada",
  email: "ada@example.com",
  email_verified: true,
  picture: "https://images.example/ada.png",
};
const ADA_USER = {
  id: "ada-1815",
  name: "Ada Lovelace",
  email: "ada@example.com",
  image: "https://images.example/ada.png",
};

/** A provider that departs from nothing, at an issuer of the application's own. */
function standard(issuer: string, endpoints: Endpoints, own: Partial<ProviderSample> & {
  authorize?: never;
  token?: never;
  documents?: never;
} = {}): ProviderSample {
  return discovered(issuer, endpoints, {
    options: { issuer },
    checks: ["pkce"],
    idToken: { iss: issuer, ...ADA },
    user: ADA_USER,
    ...own,
  });
}

const TENANT = "9122040d-6c67-4c5b-b112-36a304b66dad";
const MICROSOFT = "https://login.microsoftonline.com";

function microsoftDocument(tenant: string, issuer: string): Json {
  return {
    issuer,
    authorization_endpoint: `${MICROSOFT}/${tenant}/oauth2/v2.0/authorize`,
    token_endpoint: `${MICROSOFT}/${tenant}/oauth2/v2.0/token`,
    userinfo_endpoint: "https://graph.microsoft.com/oidc/userinfo",
    jwks_uri: `${MICROSOFT}/${tenant}/discovery/v2.0/keys`,
    id_token_signing_alg_values_supported: ["RS256"],
  };
}

/** @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow */
function microsoft(
  tenant: string,
  photo: ProviderSample["userinfo"],
  own: Partial<ProviderSample>,
): ProviderSample {
  const tenantIssuer = `${MICROSOFT}/${TENANT}/v2.0`;
  return {
    authorize: {
      url: `${MICROSOFT}/${tenant}/oauth2/v2.0/authorize`,
      params: { scope: "openid profile email User.Read" },
    },
    checks: ["pkce"],
    documents: {
      // The document for all tenants has a placeholder where the tenant would be.
      [`${MICROSOFT}/common/v2.0/.well-known/openid-configuration`]: microsoftDocument(
        "common",
        `${MICROSOFT}/{tenantid}/v2.0`,
      ),
      [`${tenantIssuer}/.well-known/openid-configuration`]: microsoftDocument(TENANT, tenantIssuer),
    },
    token: {
      url: `${MICROSOFT}/${tenant}/oauth2/v2.0/token`,
      auth: "basic",
      answer: { ...TOKENS, scope: "openid profile email User.Read", ext_expires_in: 3600 },
    },
    idToken: {
      iss: tenantIssuer,
      tid: TENANT,
      oid: "690222be-ff1a-4d56-abd1-7e4f7d38e474",
      ver: "2.0",
      sub: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
      name: "Ada Lovelace",
      preferred_username: "ada@example.com",
      email: "ada@example.com",
    },
    userinfo: photo!,
    globalFetch: ["discovery", "token", "userinfo"],
    user: {
      id: "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: "data:image/jpeg;base64, /9j/4A==",
    },
    ...own,
  };
}

const JPEG = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0);
const PHOTO = "https://graph.microsoft.com/v1.0/me/photos/48x48/$value";
const B2C = `https://acme.b2clogin.com/tfp/${TENANT}/b2c_1_signin/v2.0`;

/** Every provider module of this kind. */
export const OIDC_PROVIDERS = {
  // Documented at https://developer.apple.com/documentation/signinwithapplerestapi
  apple: discovered(
    "https://appleid.apple.com",
    { authorization: "/auth/authorize", token: "/auth/token" },
    {
      authorize: { scope: "name email", response_mode: "form_post" },
      checks: ["nonce", "state"],
      token: { auth: "body", answer: { ...TOKENS, refresh_token: "refresh-3456" } },
      idToken: {
        iss: "https://appleid.apple.com",
        sub: "001999.9e1d2c3b4a.1234",
        email: "ada@example.com",
        email_verified: "true",
        nonce_supported: true,
      },
      // Only the first time a person signs in
      posts: { user: '{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"ada@example.com"}' },
      globalFetch: ["discovery", "token"],
      user: { id: "001999.9e1d2c3b4a.1234", name: "Ada Lovelace", email: "ada@example.com", image: null },
      note: "The client secret is a JWT that expires (`npx auth add apple` makes one). Its callback is a form " +
        "posted from Apple's site, so it needs https. The name comes only with a person's first sign-in.",
    },
  ),
  asgardeo: discovered(
    "https://api.asgardeo.io/t/acme/oauth2/token",
    {
      authorization: "https://api.asgardeo.io/t/acme/oauth2/authorize",
      token: "https://api.asgardeo.io/t/acme/oauth2/token",
      userinfo: "https://api.asgardeo.io/t/acme/oauth2/userinfo",
    },
    {
      options: { issuer: "https://api.asgardeo.io/t/acme/oauth2/token" },
      checks: ["pkce"],
      idToken: {
        iss: "https://api.asgardeo.io/t/acme/oauth2/token",
        sub: "76bf8cd7-9a1f-4b10",
        username: "ada@example.com",
        given_name: "Ada",
        email: "ada@example.com",
      },
      user: { id: "76bf8cd7-9a1f-4b10", email: "ada@example.com" },
      note: "The issuer is the one of its discovery document, `https://api.asgardeo.io/t/<org>/oauth2/token`.",
    },
  ),
  auth0: discovered("https://acme.eu.auth0.com/", {
    authorization: "/authorize",
    token: "/oauth/token",
    userinfo: "/userinfo",
  }, {
    options: { issuer: "https://acme.eu.auth0.com" },
    checks: ["pkce"],
    idToken: { iss: "https://acme.eu.auth0.com/", ...ADA, sub: "auth0|6543", nickname: "ada" },
    user: { ...ADA_USER, id: "auth0|6543" },
  }),
  authentik: standard("https://auth.acme.example/application/o/app/", {
    authorization: "https://auth.acme.example/application/o/authorize/",
    token: "https://auth.acme.example/application/o/token/",
    userinfo: "https://auth.acme.example/application/o/userinfo/",
  }),
  "azure-ad": microsoft(TENANT, [{ url: PHOTO, answer: JPEG }], {
    options: { issuer: `${MICROSOFT}/${TENANT}/v2.0` },
    documents: {
      [`${MICROSOFT}/${TENANT}/v2.0/.well-known/openid-configuration`]: microsoftDocument(
        TENANT,
        `${MICROSOFT}/${TENANT}/v2.0`,
      ),
    },
    note: "The former name of `microsoft-entra-id`.",
  }),
  // Documented at https://learn.microsoft.com/azure/active-directory-b2c/openid-connect and /access-tokens
  "azure-ad-b2c": discovered(
    `${B2C}/`,
    {
      authorization: `${B2C.replace("/v2.0", "")}/oauth2/v2.0/authorize`,
      token: `${B2C.replace("/v2.0", "")}/oauth2/v2.0/token`,
    },
    {
      options: { issuer: `${B2C}/` },
      authorize: { scope: `openid offline_access ${CLIENT.id}` },
      checks: ["pkce"],
      idToken: {
        iss: `${B2C}/`,
        sub: "884408e1-2918-4cz0",
        name: "Ada Lovelace",
        emails: ["ada@example.com"],
        tfp: "B2C_1_signin",
        ver: "1.0",
      },
      user: { id: "884408e1-2918-4cz0", name: "Ada Lovelace", email: "ada@example.com", image: null },
      note: "Set the user flow's *Issuer (iss) claim* to the form with `/tfp/`, and `AUTH_AZURE_AD_B2C_ISSUER` to " +
        "that issuer: `https://<tenant>.b2clogin.com/tfp/<tenant id>/<user flow>/v2.0/`.",
    },
  ),
  // Documented at https://developer.bankid.no/bankid-with-biometrics/ and the realm's discovery document
  "bankid-no": discovered(
    "https://auth.bankid.no/auth/realms/prod",
    {
      authorization: "/protocol/openid-connect/auth",
      token: "/protocol/openid-connect/token",
      userinfo: "/protocol/openid-connect/userinfo",
    },
    {
      authorize: { ui_locales: "no", login_hint: "BIS" },
      checks: ["pkce", "state", "nonce"],
      token: { auth: "body" },
      idToken: {
        iss: "https://auth.bankid.no/auth/realms/prod",
        sub: "e8c523ff-52a2",
        typ: "ID",
        amr: "BIS",
      },
      userinfo: [{
        url: "https://auth.bankid.no/auth/realms/prod/protocol/openid-connect/userinfo",
        headers: { accept: "application/jwt" },
        answer: { sub: "e8c523ff-52a2", name: "Ada Lovelace", email: "ada@example.com" },
      }],
      signedUserinfo: true,
      user: { id: "e8c523ff-52a2", name: "Ada Lovelace", email: "ada@example.com", image: null },
    },
  ),
  // Documented at https://community.developer.battle.net/documentation/guides/using-oauth
  battlenet: discovered("https://oauth.battle.net", {
    authorization: "/authorize",
    token: "/token",
    userinfo: "/userinfo",
  }, {
    options: { issuer: "https://oauth.battle.net" },
    checks: ["state", "nonce"],
    idToken: { iss: "https://oauth.battle.net", sub: "1234567", battle_tag: "Ada#1815" },
    user: { id: "1234567", name: "Ada#1815", image: null },
  }),
  beyondidentity: standard("https://auth-us.beyondidentity.com/v1/tenants/1/realms/2/applications/3", {
    authorization: "/authorize",
    token: "/token",
    userinfo: "/userinfo",
  }, { user: { ...ADA_USER, image: null } }),
  cognito: standard("https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC123", {
    authorization: "https://acme.auth.eu-west-1.amazoncognito.com/oauth2/authorize",
    token: "https://acme.auth.eu-west-1.amazoncognito.com/oauth2/token",
    userinfo: "https://acme.auth.eu-west-1.amazoncognito.com/oauth2/userInfo",
  }),
  // The issuer follows from the client id, which is the project's.
  descope: discovered(
    `https://api.descope.com/${CLIENT.id}`,
    {
      authorization: "https://api.descope.com/oauth2/v1/authorize",
      token: "https://api.descope.com/oauth2/v1/token",
      userinfo: "https://api.descope.com/oauth2/v1/userinfo",
    },
    {
      checks: ["pkce", "state"],
      idToken: { iss: `https://api.descope.com/${CLIENT.id}`, ...ADA },
      user: ADA_USER,
    },
  ),
  "duende-identity-server6": standard("https://id.acme.example", {
    authorization: "/connect/authorize",
    token: "/connect/token",
    userinfo: "/connect/userinfo",
  }),
  // Its endpoints are known: there is nothing to discover.
  frontegg: {
    options: { issuer: "https://acme.frontegg.com" },
    authorize: {
      url: "https://acme.frontegg.com/oauth/authorize",
      params: { scope: "openid profile email" },
    },
    checks: ["pkce"],
    token: { url: "https://acme.frontegg.com/oauth/token", auth: "basic", answer: TOKENS },
    idToken: { iss: "https://acme.frontegg.com", ...ADA, profilePictureUrl: ADA.picture, roles: [] },
    user: ADA_USER,
  },
  // Documented at https://fusionauth.io/docs/lifecycle/authenticate-users/oauth/endpoints
  fusionauth: discovered("https://acme.fusionauth.io", {
    authorization: "/oauth2/authorize",
    token: "/oauth2/token",
    userinfo: "/oauth2/userinfo",
  }, {
    options: { issuer: "https://acme.fusionauth.io" },
    authorize: { scope: "openid offline_access email profile" },
    checks: ["pkce", "state"],
    // A challenge although nothing is wrong
    token: { headers: { "www-authenticate": "Basic" } },
    idToken: {
      iss: "https://acme.fusionauth.io",
      sub: "3b6d2f70-4821",
      email: "ada@example.com",
      preferred_username: "ada",
      authenticationType: "PASSWORD",
    },
    user: { id: "3b6d2f70-4821", name: "ada", email: "ada@example.com" },
  }),
  // Documented at https://developers.google.com/identity/openid-connect/openid-connect
  google: discovered("https://accounts.google.com", {
    authorization: "/o/oauth2/v2/auth",
    token: "https://oauth2.googleapis.com/token",
    userinfo: "https://openidconnect.googleapis.com/v1/userinfo",
  }, {
    checks: ["pkce"],
    token: {
      answer: { ...TOKENS, expires_in: 3599, scope: "openid https://www.googleapis.com/auth/userinfo.email" },
    },
    idToken: { iss: "https://accounts.google.com", azp: CLIENT.id, ...ADA, sub: "110169484474386276334" },
    user: { ...ADA_USER, id: "110169484474386276334" },
  }),
  // Documented at https://huggingface.co/docs/hub/oauth
  huggingface: discovered("https://huggingface.co", {
    authorization: "/oauth/authorize",
    token: "/oauth/token",
    userinfo: "/oauth/userinfo",
  }, {
    checks: ["state", "pkce"],
    idToken: { iss: "https://huggingface.co", ...ADA, isPro: false, orgs: [] },
    user: ADA_USER,
  }),
  "identity-server4": standard("https://id.acme.example", {
    authorization: "/connect/authorize",
    token: "/connect/token",
    userinfo: "/connect/userinfo",
  }),
  keycloak: standard("https://sso.acme.example/realms/acme", {
    authorization: "/protocol/openid-connect/auth",
    token: "/protocol/openid-connect/token",
    userinfo: "/protocol/openid-connect/userinfo",
  }),
  kinde: standard("https://acme.kinde.com", {
    authorization: "/oauth2/auth",
    token: "/oauth2/token",
    userinfo: "/oauth2/v2/user_profile",
  }, { checks: ["state", "pkce"] }),
  // Documented at https://developers.line.biz/en/docs/line-login/integrate-line-login/
  line: discovered("https://access.line.me", {
    authorization: "/oauth2/v2.1/authorize",
    token: "https://api.line.me/oauth2/v2.1/token",
    userinfo: "https://api.line.me/oauth2/v2.1/userinfo",
  }, {
    checks: ["state"],
    token: {
      answer: { ...TOKENS, expires_in: 2592000, refresh_token: "refresh-3456", scope: "profile openid" },
    },
    idToken: {
      iss: "https://access.line.me",
      sub: "U1234567890abcdef1234567890abcdef",
      amr: ["pwd"],
      name: "Ada",
      picture: "https://profile.line-scdn.net/ada",
    },
    // Signed with the channel's secret
    idTokenAlgorithm: "HS256",
    user: {
      id: "U1234567890abcdef1234567890abcdef",
      name: "Ada",
      image: "https://profile.line-scdn.net/ada",
    },
    note: "The e-mail address is given only to channels that applied for it.",
  }),
  // Documented at https://learn.microsoft.com/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
  linkedin: discovered("https://www.linkedin.com/oauth", {
    authorization: "/v2/authorization",
    token: "/v2/accessToken",
    userinfo: "https://api.linkedin.com/v2/userinfo",
  }, {
    checks: ["state"],
    token: { auth: "body", answer: { ...TOKENS, expires_in: 5184000, scope: "email,openid,profile" } },
    idToken: { iss: "https://www.linkedin.com/oauth", ...ADA, sub: "782bbtaQ", email_verified: "true" },
    user: { ...ADA_USER, id: "782bbtaQ" },
  }),
  logto: discovered("https://acme.logto.app/oidc", {
    authorization: "/auth",
    token: "/token",
    userinfo: "/me",
  }, {
    options: { issuer: "https://acme.logto.app/oidc" },
    authorize: { scope: "offline_access openid email profile" },
    checks: ["pkce"],
    idToken: {
      iss: "https://acme.logto.app/oidc",
      sub: "q9xkd2ulmf8o",
      name: null,
      username: "ada",
      email: "ada@example.com",
      picture: "https://images.example/ada.png",
    },
    user: {
      id: "q9xkd2ulmf8o",
      name: "ada",
      email: "ada@example.com",
      image: "https://images.example/ada.png",
    },
  }),
  "microsoft-entra-id": microsoft("common", [{ url: PHOTO, answer: JPEG }], {
    note: "Accounts of every organisation may sign in unless the issuer names a tenant: " +
      "`https://login.microsoftonline.com/<tenant id>/v2.0`. The picture is in the session itself, as a data URL.",
  }),
  okta: standard("https://acme.okta.com/oauth2/default", {
    authorization: "/v1/authorize",
    token: "/v1/token",
    userinfo: "/v1/userinfo",
  }, { checks: ["pkce", "state"] }),
  // Documented at https://developers.onelogin.com/openid-connect/api/provider-config
  onelogin: standard("https://acme.onelogin.com/oidc/2", {
    authorization: "/auth",
    token: "/token",
    userinfo: "/me",
  }, { note: "The issuer is the one of its discovery document, `https://<subdomain>.onelogin.com/oidc/2`." }),
  "ory-hydra": {
    ...standard("https://hydra.acme.example/", {
      authorization: "/oauth2/auth",
      token: "/oauth2/token",
      userinfo: "/userinfo",
    }),
    id: "hydra",
    note: "Its id is `hydra`, unlike the name of its module.",
  },
  passage: standard("https://acme.withpassage.com", {
    authorization: "/authorize",
    token: "/token",
    userinfo: "/userinfo",
  }, {
    idToken: {
      iss: "https://acme.withpassage.com",
      aud: [CLIENT.id],
      sub: "HSxLGX3IKFtXUYj6tx1B",
      email: "ada@example.com",
      email_verified: true,
    },
    user: { id: "HSxLGX3IKFtXUYj6tx1B", email: "ada@example.com" },
  }),
  "ping-id": standard("https://auth.pingone.eu/5caa81af-ec05-41ff-a709-c7378007a99c/as", {
    authorization: "/authorize",
    token: "/token",
    userinfo: "/userinfo",
  }),
  // Documented at https://create.roblox.com/docs/cloud/auth/oauth2-reference
  roblox: discovered("https://apis.roblox.com/oauth/", {
    authorization: "/v1/authorize",
    token: "/v1/token",
    userinfo: "/v1/userinfo",
  }, {
    authorize: { scope: "openid profile" },
    checks: ["pkce", "state"],
    token: { answer: { ...TOKENS, expires_in: 899, refresh_token: "refresh-3456", scope: "openid profile" } },
    idToken: {
      iss: "https://apis.roblox.com/oauth/",
      sub: "1516563360",
      name: "Ada",
      nickname: "Ada",
      preferred_username: "ada1815",
      picture: "https://images.example/ada.png",
    },
    user: { id: "1516563360", name: "Ada", image: "https://images.example/ada.png" },
  }),
  // Documented at https://help.salesforce.com/s/articleView?id=sf.remoteaccess_using_userinfo_endpoint.htm
  salesforce: discovered("https://login.salesforce.com", {
    authorization: "/services/oauth2/authorize",
    token: "/services/oauth2/token",
    userinfo: "/services/oauth2/userinfo",
  }, {
    checks: ["pkce", "state", "nonce"],
    token: {
      answer: {
        access_token: "access-9012",
        token_type: "Bearer",
        instance_url: "https://acme.my.salesforce.com",
        id: "https://login.salesforce.com/id/00Dx0/005x0",
        issued_at: "1278448384422",
      },
    },
    idToken: { iss: "https://login.salesforce.com", sub: "https://login.salesforce.com/id/00Dx0/005x0" },
    userinfo: [{
      url: "https://login.salesforce.com/services/oauth2/userinfo",
      answer: {
        ...ADA,
        sub: "https://login.salesforce.com/id/00Dx0/005x0",
        user_id: "005x0",
        organization_id: "00Dx0",
      },
    }],
    user: { ...ADA_USER, id: "https://login.salesforce.com/id/00Dx0/005x0" },
  }),
  // Documented at https://simplelogin.io/docs/siwsl/code-flow/
  simplelogin: discovered("https://app.simplelogin.io", {
    authorization: "/oauth2/authorize",
    token: "/oauth2/token",
    userinfo: "/oauth2/userinfo",
  }, {
    checks: ["pkce"],
    token: { answer: { ...TOKENS, scope: "", user: { email: "ada@example.com", id: 1 } } },
    idToken: {
      iss: "https://app.simplelogin.io",
      sub: "1",
      client: "Acme",
      email: "ada@example.com",
      email_verified: true,
      id: 1,
      name: "Ada Lovelace",
      avatar_url: "https://images.example/ada.png",
    },
    user: { ...ADA_USER, id: "1" },
  }),
  // Documented at https://api.slack.com/authentication/sign-in-with-slack
  slack: discovered("https://slack.com", {
    authorization: "/openid/connect/authorize",
    token: "/api/openid.connect.token",
    userinfo: "/api/openid.connect.userInfo",
  }, {
    checks: ["nonce"],
    token: { answer: { ok: true, access_token: "access-9012", token_type: "Bearer" } },
    idToken: {
      iss: "https://slack.com",
      ...ADA,
      sub: "U0R7MFMJM",
      "https://slack.com/user_id": "U0R7MFMJM",
      "https://slack.com/team_id": "T0R7GR7NW",
    },
    user: { ...ADA_USER, id: "U0R7MFMJM" },
  }),
  // Documented at https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/
  twitch: discovered("https://id.twitch.tv/oauth2", {
    authorization: "/authorize",
    token: "/token",
    userinfo: "/userinfo",
  }, {
    authorize: {
      scope: "openid user:read:email",
      claims: '{"id_token":{"email":null,"picture":null,"preferred_username":null}}',
    },
    checks: ["pkce"],
    token: {
      auth: "body",
      answer: {
        access_token: "access-9012",
        expires_in: 14474,
        refresh_token: "refresh-3456",
        scope: ["openid", "user:read:email"],
        token_type: "bearer",
      },
    },
    idToken: {
      iss: "https://id.twitch.tv/oauth2",
      azp: CLIENT.id,
      sub: "713936733",
      preferred_username: "Ada",
      email: "ada@example.com",
      picture: "https://images.example/ada.png",
    },
    user: { ...ADA_USER, id: "713936733", name: "Ada" },
  }),
  "united-effects": discovered("https://auth.unitedeffects.com/acme", {
    authorization: "/auth",
    token: "/token",
    userinfo: "/me",
  }, {
    options: { issuer: "https://auth.unitedeffects.com/acme" },
    authorize: { scope: "openid email profile", resource: "https://auth.unitedeffects.com/acme" },
    checks: ["pkce"],
    idToken: { iss: "https://auth.unitedeffects.com/acme", sub: "ada-1815", email: "ada@example.com" },
    user: { id: "ada-1815", email: "ada@example.com" },
  }),
  // Documented at https://developer.vippsmobilepay.com/docs/APIs/login-api/
  vipps: discovered("https://api.vipps.no/access-management-1.0/access/", {
    authorization: "/oauth2/auth",
    token: "/oauth2/token",
    userinfo: "https://api.vipps.no/vipps-userinfo-api/userinfo",
  }, {
    authorize: { scope: "openid name email" },
    checks: ["pkce", "state", "nonce"],
    token: { answer: { ...TOKENS, expires_in: 299, scope: "openid name email" } },
    idToken: { iss: "https://api.vipps.no/access-management-1.0/access/", sub: "c06c4afe-d9e1" },
    userinfo: [{
      url: "https://api.vipps.no/vipps-userinfo-api/userinfo",
      answer: {
        sub: "c06c4afe-d9e1",
        sid: "7d78a726-af92",
        name: "Ada Lovelace",
        given_name: "Ada",
        family_name: "Lovelace",
        email: "ada@example.com",
        email_verified: true,
      },
    }],
    user: { id: "c06c4afe-d9e1", name: "Ada Lovelace", email: "ada@example.com" },
  }),
  zitadel: standard("https://acme.zitadel.cloud", {
    authorization: "/oauth/v2/authorize",
    token: "/oauth/v2/token",
    userinfo: "/oidc/v1/userinfo",
  }),
} satisfies ProviderSamples;
