/**
 * The OAuth 2.0 providers, 42 School to Mattermost.
 *
 * @module
 */
import { CLIENT, type ProviderSamples, TOKENS } from "./provider_sample.ts";

const ADA_IMAGE = "https://images.example/ada.png";
const BEARER = { access_token: "access-9012", token_type: "bearer" };

/** What core asks for if a provider names no scope. */
const DEFAULT_SCOPE = "openid profile email";

/** Every provider module of this kind. */
export const OAUTH_PROVIDERS_A_M = {
  // Documented at https://api.intra.42.fr/apidoc/guides/web_application_flow
  "42-school": {
    authorize: { url: "https://api.intra.42.fr/oauth/authorize", params: { scope: "public" } },
    checks: ["pkce"],
    token: {
      url: "https://api.intra.42.fr/oauth/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 7200, scope: "public", created_at: 1443451918 },
    },
    userinfo: [{
      url: "https://api.intra.42.fr/v2/me",
      answer: {
        id: 2,
        login: "ada",
        email: "ada@student.42.fr",
        first_name: "Ada",
        last_name: "Lovelace",
        usual_full_name: "Ada Lovelace",
        displayname: "Ada Lovelace",
        image: { link: ADA_IMAGE, versions: {} },
        cursus_users: [],
        campus: [],
      },
    }],
    user: { id: "2", name: "Ada Lovelace", email: "ada@student.42.fr", image: ADA_IMAGE },
  },
  // Documented at https://developer.atlassian.com/cloud/confluence/oauth-2-3lo-apps/
  atlassian: {
    authorize: {
      url: "https://auth.atlassian.com/authorize",
      params: { scope: "read:me", audience: "api.atlassian.com" },
    },
    checks: ["state"],
    token: {
      url: "https://auth.atlassian.com/oauth/token",
      auth: "basic",
      answer: { ...TOKENS, scope: "read:me" },
    },
    userinfo: [{
      url: "https://api.atlassian.com/me",
      answer: {
        account_type: "atlassian",
        account_id: "112233aa-bb11-cc22-33dd-445566abcabc",
        email: "ada@example.com",
        name: "Ada Lovelace",
        picture: ADA_IMAGE,
        account_status: "active",
        nickname: "ada",
      },
    }],
    user: {
      id: "112233aa-bb11-cc22-33dd-445566abcabc",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: ADA_IMAGE,
    },
  },
  // Documented at https://developer.atlassian.com/cloud/bitbucket/oauth-2/
  bitbucket: {
    authorize: { url: "https://bitbucket.org/site/oauth2/authorize", params: { scope: "account" } },
    checks: ["pkce"],
    token: {
      url: "https://bitbucket.org/site/oauth2/access_token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 7200, scopes: "account", refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://api.bitbucket.org/2.0/user",
      answer: {
        type: "user",
        uuid: "{a54f16da-24e9-4d7f-a3a7-b1ba2cd98aa3}",
        account_id: "557058:c0b72ad0-1cb5",
        display_name: "Ada Lovelace",
        nickname: "ada",
        username: "ada",
        links: { avatar: { href: ADA_IMAGE } },
      },
    }],
    user: { id: "557058:c0b72ad0-1cb5", name: "Ada Lovelace", image: ADA_IMAGE },
  },
  // Documented at https://developer.box.com/reference/post-oauth2-token/
  box: {
    authorize: { url: "https://account.box.com/api/oauth2/authorize", params: { scope: DEFAULT_SCOPE } },
    checks: ["pkce"],
    token: {
      url: "https://api.box.com/oauth2/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 3600, refresh_token: "refresh-3456", restricted_to: [] },
    },
    userinfo: [{
      url: "https://api.box.com/2.0/users/me",
      answer: {
        id: "11446498",
        type: "user",
        name: "Ada Lovelace",
        login: "Ada@Example.com",
        avatar_url: ADA_IMAGE,
        status: "active",
      },
    }],
    // Core writes addresses in small letters.
    user: { id: "11446498", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://boxyhq.com/docs/jackson/sso-flow/
  "boxyhq-saml": {
    options: { issuer: "https://sso.acme.example", authorization: { params: { scope: "" } } },
    authorize: {
      url: "https://sso.acme.example/api/oauth/authorize",
      params: { scope: "", provider: "saml" },
    },
    checks: ["pkce"],
    token: {
      url: "https://sso.acme.example/api/oauth/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 300 },
    },
    userinfo: [{
      url: "https://sso.acme.example/api/oauth/userinfo",
      answer: {
        id: "a1b2c3",
        email: "ada@example.com",
        firstName: "Ada",
        lastName: "Lovelace",
        requested: {},
      },
    }],
    user: { id: "a1b2c3", name: "Ada Lovelace", email: "ada@example.com", image: null },
    note: 'Set `authorization: { params: { scope: "" } }`, and the tenant and product as parameters beside it.',
  },
  // Documented at https://github.com/Bungie-net/api/wiki/OAuth-Documentation and https://bungie-net.github.io
  bungie: {
    options: { headers: { "X-API-Key": "api-key-7890" } },
    authorize: {
      url: "https://www.bungie.net/en/OAuth/Authorize",
      params: { scope: DEFAULT_SCOPE, reauth: "true" },
    },
    checks: ["pkce"],
    token: {
      url: "https://www.bungie.net/platform/app/oauth/token/",
      auth: "basic",
      answer: {
        ...TOKENS,
        refresh_token: "refresh-3456",
        refresh_expires_in: 7776000,
        membership_id: "4389533",
      },
    },
    userinfo: [{
      url: "https://www.bungie.net/Platform/User/GetMembershipsForCurrentUser/",
      headers: { "x-api-key": "api-key-7890" },
      answer: {
        Response: {
          destinyMemberships: [],
          bungieNetUser: {
            membershipId: "4389533",
            displayName: "Ada",
            profilePicturePath: "/img/profile/avatars/ada.jpg",
          },
        },
        ErrorCode: 1,
        ErrorStatus: "Success",
      },
    }],
    user: { id: "4389533", name: "Ada", image: "https://www.bungie.net/img/profile/avatars/ada.jpg" },
    note: 'Needs its API key: `headers: { "X-API-Key": "…" }`, or `AUTH_BUNGIE_KEY` with `providers: [Bungie]`.',
  },
  // Documented at https://developer.clickup.com/reference/getaccesstoken
  "click-up": {
    authorize: { url: "https://app.clickup.com/api", params: { scope: DEFAULT_SCOPE } },
    checks: ["state"],
    token: {
      url: "https://api.clickup.com/api/v2/oauth/token",
      auth: "body",
      answer: { access_token: "access-9012" },
    },
    userinfo: [{
      url: "https://api.clickup.com/api/v2/user",
      answer: {
        user: {
          id: 123,
          username: "Ada Lovelace",
          email: "ada@example.com",
          color: "#000000",
          profilePicture: ADA_IMAGE,
        },
      },
    }],
    user: { id: "123", name: "Ada Lovelace" },
  },
  // Documented at https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/integrations
  coinbase: {
    authorize: {
      url: "https://login.coinbase.com/oauth2/auth",
      params: { scope: "wallet:user:email wallet:user:read" },
    },
    checks: ["pkce"],
    token: {
      url: "https://login.coinbase.com/oauth2/token",
      auth: "basic",
      answer: {
        ...BEARER,
        expires_in: 3600,
        refresh_token: "refresh-3456",
        scope: "wallet:user:email wallet:user:read",
      },
    },
    userinfo: [{
      url: "https://api.coinbase.com/v2/user",
      answer: {
        data: {
          id: "9da7a204-544e-5fd1-9a12-61176c5d4cd8",
          name: "Ada Lovelace",
          email: "ada@example.com",
          avatar_url: ADA_IMAGE,
          resource: "user",
        },
      },
    }],
    user: {
      id: "9da7a204-544e-5fd1-9a12-61176c5d4cd8",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: ADA_IMAGE,
    },
  },
  // Documented at https://log.concept2.com/developers/documentation/
  concept2: {
    authorize: {
      url: "https://log.concept2.com/oauth/authorize",
      params: { scope: "user:read,results:write" },
    },
    checks: ["pkce"],
    token: {
      url: "https://log.concept2.com/oauth/access_token",
      auth: "basic",
      answer: { ...TOKENS, expires_in: 604800, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://log.concept2.com/api/users/me",
      answer: {
        data: { id: 1, username: "ada", email: "ada@example.com", country: "GBR", profile_image: ADA_IMAGE },
      },
    }],
    user: { id: "1", name: "ada", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://discord.com/developers/docs/topics/oauth2
  discord: {
    authorize: {
      url: "https://discord.com/api/oauth2/authorize",
      params: { scope: "identify email" },
    },
    checks: ["pkce"],
    token: {
      url: "https://discord.com/api/oauth2/token",
      auth: "basic",
      answer: { ...TOKENS, expires_in: 604800, refresh_token: "refresh-3456", scope: "identify email" },
    },
    userinfo: [{
      url: "https://discord.com/api/users/@me",
      answer: {
        id: "80351110224678912",
        username: "ada",
        discriminator: "0",
        global_name: "Ada",
        avatar: "8342729096ea3675442027381ff50dfe",
        verified: true,
        email: "ada@example.com",
      },
    }],
    user: {
      id: "80351110224678912",
      name: "Ada",
      email: "ada@example.com",
      image: "https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea3675442027381ff50dfe.png",
    },
  },
  // Documented at https://developer.dribbble.com/v2/oauth/
  dribbble: {
    authorize: { url: "https://dribbble.com/oauth/authorize", params: { scope: "public" } },
    checks: ["pkce"],
    token: {
      url: "https://dribbble.com/oauth/token",
      auth: "basic",
      answer: { ...BEARER, scope: "public", created_at: 1361234567 },
    },
    userinfo: [{
      url: "https://api.dribbble.com/v2/user",
      answer: { id: 1, name: "Ada Lovelace", login: "ada", avatar_url: ADA_IMAGE, type: "User" },
    }],
    user: { id: "1", name: "Ada Lovelace", image: ADA_IMAGE },
  },
  // Documented at https://www.dropbox.com/developers/documentation/http/documentation
  dropbox: {
    authorize: {
      url: "https://www.dropbox.com/oauth2/authorize",
      params: { scope: "account_info.read", token_access_type: "offline" },
    },
    checks: ["pkce"],
    token: {
      url: "https://api.dropboxapi.com/oauth2/token",
      auth: "basic",
      answer: {
        ...BEARER,
        expires_in: 13220,
        refresh_token: "refresh-3456",
        scope: "account_info.read",
        account_id: "dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc",
        uid: "12345",
      },
    },
    userinfo: [{
      method: "POST",
      url: "https://api.dropboxapi.com/2/users/get_current_account",
      answer: {
        account_id: "dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc",
        name: { given_name: "Ada", surname: "Lovelace", display_name: "Ada Lovelace" },
        email: "ada@example.com",
        email_verified: true,
        profile_photo_url: ADA_IMAGE,
      },
    }],
    globalFetch: ["userinfo"],
    user: {
      id: "dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: ADA_IMAGE,
    },
  },
  // Documented at https://www.eventbrite.com/platform/api#/introduction/authentication
  eventbrite: {
    authorize: { url: "https://www.eventbrite.com/oauth/authorize", params: { scope: "user.profile" } },
    checks: ["pkce"],
    token: { url: "https://www.eventbrite.com/oauth/token", auth: "body", answer: BEARER },
    userinfo: [{
      url: "https://www.eventbriteapi.com/v3/users/me/",
      answer: {
        id: "142429416488",
        name: "Ada Lovelace",
        first_name: "Ada",
        last_name: "Lovelace",
        emails: [
          { email: "other@example.com", verified: true, primary: false },
          { email: "ada@example.com", verified: true, primary: true },
        ],
        image_id: "31811",
      },
    }],
    user: {
      id: "142429416488",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: "https://img.evbuc.com/https%3A%2F%2Fcdn.evbuc.com%2Fimages%2F31811%2F1%2Foriginal.jpg",
    },
  },
  // Documented at https://developers.eveonline.com/docs/services/sso/
  eveonline: {
    authorize: {
      url: "https://login.eveonline.com/v2/oauth/authorize",
      params: { scope: "publicData" },
    },
    checks: ["state"],
    token: {
      url: "https://login.eveonline.com/v2/oauth/token",
      auth: "basic",
      answer: { ...TOKENS, expires_in: 1199, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://login.eveonline.com/oauth/verify",
      answer: {
        CharacterID: 90000001,
        CharacterName: "Ada",
        ExpiresOn: "2026-01-01T00:00:00",
        Scopes: "publicData",
        TokenType: "Character",
        CharacterOwnerHash: "8PmzCeTKb4VFUDrHLc/AeZXDSWM=",
        IntellectualProperty: "EVE",
      },
    }],
    user: {
      id: "90000001",
      name: "Ada",
      image: "https://image.eveonline.com/Character/90000001_128.jpg",
    },
  },
  // Documented at https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow
  facebook: {
    authorize: { url: "https://www.facebook.com/v19.0/dialog/oauth", params: { scope: "email" } },
    checks: ["pkce"],
    token: {
      url: "https://graph.facebook.com/oauth/access_token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 5183944 },
    },
    userinfo: [{
      url: "https://graph.facebook.com/me?fields=id,name,email,picture",
      answer: {
        id: "10158912345678901",
        name: "Ada Lovelace",
        email: "ada@example.com",
        picture: { data: { height: 50, width: 50, is_silhouette: false, url: ADA_IMAGE } },
      },
    }],
    globalFetch: ["userinfo"],
    user: { id: "10158912345678901", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://docs.faceit.com/getting-started/authentication/oauth2
  faceit: {
    authorize: {
      url: "https://accounts.faceit.com/accounts",
      params: { scope: DEFAULT_SCOPE, redirect_popup: "true" },
    },
    checks: ["pkce"],
    token: {
      url: "https://api.faceit.com/auth/v1/oauth/token",
      auth: "basic",
      answer: { ...TOKENS, expires_in: 86400, refresh_token: "refresh-3456", scope: "openid email profile" },
    },
    // An ID token that never expires is none, so core is not to see it.
    idToken: { iss: "https://api.faceit.com/auth", exp: null, guid: "5b9b1e0c-aaaa" },
    userinfo: [{
      url: "https://api.faceit.com/auth/v1/resources/userinfo",
      answer: {
        iss: "https://api.faceit.com/auth",
        guid: "5b9b1e0c-aaaa",
        nickname: "ada",
        name: "Ada Lovelace",
        email: "ada@example.com",
        picture: ADA_IMAGE,
      },
    }],
    user: { id: "5b9b1e0c-aaaa", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://developers.figma.com/docs/rest-api/authentication/
  figma: {
    authorize: { url: "https://www.figma.com/oauth", params: { scope: "files:read" } },
    checks: ["state"],
    token: {
      url: "https://api.figma.com/v1/oauth/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 7776000, refresh_token: "refresh-3456", user_id_string: "1234" },
    },
    userinfo: [{
      url: "https://api.figma.com/v1/me",
      answer: { id: "1234", email: "ada@example.com", handle: "Ada", img_url: ADA_IMAGE },
    }],
    user: { id: "1234", name: "Ada", email: "ada@example.com", image: ADA_IMAGE },
    note: 'Figma deprecated the scope: newer apps set `authorization: { params: { scope: "current_user:read" } }`.',
  },
  // Documented at https://docs.foursquare.com/developer/reference/authentication
  foursquare: {
    authorize: { url: "https://foursquare.com/oauth2/authenticate", params: { scope: DEFAULT_SCOPE } },
    checks: ["pkce"],
    token: {
      url: "https://foursquare.com/oauth2/access_token",
      auth: "body",
      answer: { access_token: "access-9012" },
    },
    userinfo: [{
      url: "https://api.foursquare.com/v2/users/self?v=20230131&oauth_token=access-9012",
      headers: { authorization: undefined },
      answer: {
        meta: { code: 200 },
        response: {
          user: {
            id: "1010101",
            firstName: "Ada",
            lastName: "Lovelace",
            contact: { email: "ada@example.com" },
            photo: { prefix: "https://images.example/", suffix: "/ada.png" },
          },
        },
      },
    }],
    globalFetch: ["userinfo"],
    user: {
      id: "1010101",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: "https://images.example/original/ada.png",
    },
  },
  // Documented at https://www.freshbooks.com/api/authentication
  freshbooks: {
    authorize: {
      url: "https://auth.freshbooks.com/service/auth/oauth/authorize",
      params: { scope: DEFAULT_SCOPE },
    },
    checks: ["pkce"],
    token: {
      url: "https://api.freshbooks.com/auth/oauth/token",
      auth: "basic",
      answer: {
        ...TOKENS,
        expires_in: 43200,
        refresh_token: "refresh-3456",
        scope: "user:profile:read",
        created_at: 1646842138,
        direct_buy_tokens: {},
      },
    },
    userinfo: [{
      url: "https://api.freshbooks.com/auth/api/v1/users/me",
      answer: {
        response: { id: 712052, first_name: "Ada", last_name: "Lovelace", email: "ada@example.com" },
      },
    }],
    user: { id: "712052", name: "Ada Lovelace", email: "ada@example.com", image: null },
  },
  // Documented at https://docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
  github: {
    authorize: {
      url: "https://github.com/login/oauth/authorize",
      params: { scope: "read:user user:email" },
    },
    checks: ["pkce"],
    token: {
      url: "https://github.com/login/oauth/access_token",
      auth: "basic",
      answer: { ...BEARER, scope: "read:user,user:email" },
    },
    userinfo: [
      {
        url: "https://api.github.com/user",
        headers: { "user-agent": "authjs" },
        answer: { id: 583231, login: "ada", name: null, email: null, avatar_url: ADA_IMAGE, type: "User" },
      },
      // Asked for if the profile shows no address
      {
        url: "https://api.github.com/user/emails",
        headers: { "user-agent": "authjs" },
        answer: [
          { email: "other@example.com", verified: true, primary: false, visibility: null },
          { email: "ada@example.com", verified: true, primary: true, visibility: "private" },
        ],
      },
    ],
    globalFetch: ["userinfo"],
    user: { id: "583231", name: "ada", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://docs.gitlab.com/api/oauth2/
  gitlab: {
    authorize: { url: "https://gitlab.com/oauth/authorize", params: { scope: "read_user" } },
    checks: ["pkce"],
    token: {
      url: "https://gitlab.com/oauth/token",
      auth: "basic",
      answer: {
        ...TOKENS,
        expires_in: 7200,
        refresh_token: "refresh-3456",
        scope: "read_user",
        created_at: 1607635748,
      },
    },
    userinfo: [{
      url: "https://gitlab.com/api/v4/user",
      answer: {
        id: 1,
        username: "ada",
        name: "Ada Lovelace",
        state: "active",
        email: "ada@example.com",
        avatar_url: ADA_IMAGE,
      },
    }],
    user: { id: "1", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://developers.hubspot.com/docs/api-reference/auth-oauth-v1/guide
  hubspot: {
    authorize: { url: "https://app.hubspot.com/oauth/authorize", params: { scope: "oauth" } },
    checks: ["pkce"],
    token: {
      url: "https://api.hubapi.com/oauth/v1/token",
      auth: "body",
      answer: { ...BEARER, expires_in: 1800, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://api.hubapi.com/oauth/v1/access-tokens/access-9012",
      headers: { authorization: undefined },
      answer: {
        token: "access-9012",
        user: "ada@example.com",
        hub_domain: "acme.com",
        scopes: ["oauth"],
        hub_id: 62515,
        app_id: 456,
        expires_in: 1754,
        user_id: 123,
        token_type: "access",
      },
    }],
    globalFetch: ["userinfo"],
    user: { id: "123", name: "ada@example.com", email: "ada@example.com", image: null },
  },
  // Documented at https://developers.facebook.com/docs/instagram-basic-display-api
  instagram: {
    authorize: { url: "https://api.instagram.com/oauth/authorize", params: { scope: "user_profile" } },
    checks: ["pkce"],
    token: {
      url: "https://api.instagram.com/oauth/access_token",
      auth: "body",
      answer: { access_token: "access-9012", user_id: 17841405793187218 },
    },
    userinfo: [{
      url: "https://graph.instagram.com/me?fields=id,username,account_type,name",
      answer: { id: "17841405793187218", username: "ada", account_type: "PERSONAL" },
    }],
    user: { id: "17841405793187218", name: "ada", image: null },
    note: "Made for the Basic Display API, which Instagram shut down in December 2024. For professional accounts: " +
      '`authorization: "https://www.instagram.com/oauth/authorize?scope=instagram_business_basic"`.',
  },
  // Documented at https://developers.kakao.com/docs/latest/en/kakaologin/rest-api
  kakao: {
    authorize: { url: "https://kauth.kakao.com/oauth/authorize", params: { scope: "" } },
    checks: ["pkce"],
    token: {
      url: "https://kauth.kakao.com/oauth/token",
      auth: "body",
      answer: {
        ...BEARER,
        expires_in: 43199,
        refresh_token: "refresh-3456",
        refresh_token_expires_in: 5184000,
        scope: "account_email profile_image profile_nickname",
      },
    },
    userinfo: [{
      url: "https://kapi.kakao.com/v2/user/me",
      answer: {
        id: 123456789,
        connected_at: "2022-04-11T01:45:28Z",
        kakao_account: {
          profile: { nickname: "Ada", profile_image_url: ADA_IMAGE, is_default_image: false },
          is_email_valid: true,
          is_email_verified: true,
          email: "ada@example.com",
        },
      },
    }],
    user: { id: "123456789", name: "Ada", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://mailchimp.com/developer/marketing/guides/access-user-data-oauth-2/
  mailchimp: {
    authorize: { url: "https://login.mailchimp.com/oauth2/authorize", params: { scope: DEFAULT_SCOPE } },
    checks: ["pkce"],
    token: {
      url: "https://login.mailchimp.com/oauth2/token",
      auth: "body",
      answer: { access_token: "access-9012", expires_in: 0, scope: null },
    },
    userinfo: [{
      url: "https://login.mailchimp.com/oauth2/metadata",
      headers: { authorization: "OAuth access-9012" },
      answer: {
        dc: "us6",
        role: "owner",
        accountname: "Acme",
        user_id: 15657,
        login: { email: "ada@example.com", avatar: null, login_id: 15657, login_name: "ada" },
        api_endpoint: "https://us6.api.mailchimp.com",
      },
    }],
    user: { id: "15657", name: "Acme", email: "ada@example.com", image: null },
  },
  // Documented at https://id.vk.com/about/business/go/docs/ru/vkid/latest/oauth/oauth-mail/index
  mailru: {
    authorize: { url: "https://oauth.mail.ru/login", params: { scope: "userinfo" } },
    checks: ["pkce", "state"],
    token: {
      url: "https://oauth.mail.ru/token",
      auth: "basic",
      answer: { ...TOKENS, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://oauth.mail.ru/userinfo?access_token=access-9012",
      headers: { authorization: undefined },
      answer: {
        id: "a1b2c3d4",
        client_id: CLIENT.id,
        name: "Ада Лавлейс",
        first_name: "Ада",
        last_name: "Лавлейс",
        nickname: "ada",
        email: "ada@mail.ru",
        image: ADA_IMAGE,
        gender: "f",
        locale: "ru_RU",
      },
    }],
    user: { id: "a1b2c3d4", name: "Ада Лавлейс", email: "ada@mail.ru", image: ADA_IMAGE },
  },
  // Documented at https://docs.joinmastodon.org/methods/oauth/
  mastodon: {
    options: { issuer: "https://mastodon.example" },
    authorize: { url: "https://mastodon.example/oauth/authorize", params: { scope: "read" } },
    checks: ["pkce"],
    token: {
      url: "https://mastodon.example/oauth/token",
      auth: "basic",
      answer: { access_token: "access-9012", token_type: "Bearer", scope: "read", created_at: 1573979017 },
    },
    userinfo: [{
      url: "https://mastodon.example/api/v1/accounts/verify_credentials",
      answer: {
        id: "14715",
        username: "ada",
        acct: "ada",
        display_name: "Ada",
        avatar: "https://images.example/ada.gif",
        avatar_static: ADA_IMAGE,
      },
    }],
    user: { id: "14715", name: "ada", image: ADA_IMAGE },
  },
  // Documented at https://developers.mattermost.com/integrate/apps/authentication/oauth2/
  mattermost: {
    options: { issuer: "https://chat.acme.example" },
    authorize: { url: "https://chat.acme.example/oauth/authorize", params: { scope: DEFAULT_SCOPE } },
    checks: ["pkce"],
    token: {
      url: "https://chat.acme.example/oauth/access_token",
      auth: "body",
      answer: { ...BEARER, expires_in: 2592000, refresh_token: "refresh-3456", scope: "user" },
    },
    userinfo: [{
      url: "https://chat.acme.example/api/v4/users/me",
      answer: {
        id: "4xp9fdt77pncbef59f4k1qe83o",
        username: "ada",
        email: "ada@example.com",
        first_name: "Ada",
        last_name: "Lovelace",
        nickname: "",
      },
    }],
    user: { id: "4xp9fdt77pncbef59f4k1qe83o", name: "ada", email: "ada@example.com", image: null },
  },
} satisfies ProviderSamples;
