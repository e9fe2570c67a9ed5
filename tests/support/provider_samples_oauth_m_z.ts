/**
 * The OAuth 2.0 providers, Medium to Zoom.
 *
 * @module
 */
import { CLIENT, type ProviderSamples, TOKENS } from "./provider_sample.ts";

const ADA_IMAGE = "https://images.example/ada.png";
const BEARER = { access_token: "access-9012", token_type: "bearer" };

/** What core asks for if a provider names no scope. */
const DEFAULT_SCOPE = "openid profile email";

/** Every provider module of this kind. */
export const OAUTH_PROVIDERS_M_Z = {
  // Documented at https://github.com/Medium/medium-api-docs
  medium: {
    authorize: { url: "https://medium.com/m/oauth/authorize", params: { scope: "basicProfile" } },
    checks: ["state"],
    token: {
      url: "https://api.medium.com/v1/tokens",
      auth: "body",
      answer: {
        token_type: "Bearer",
        access_token: "access-9012",
        refresh_token: "refresh-3456",
        scope: ["basicProfile"],
        expires_at: 1987654321000,
      },
    },
    userinfo: [{
      url: "https://api.medium.com/v1/me",
      answer: {
        data: {
          id: "5303d74c64f66366f00cb9b2a94f3251bf5",
          username: "ada",
          name: "Ada Lovelace",
          url: "https://medium.com/@ada",
          imageUrl: ADA_IMAGE,
        },
      },
    }],
    user: { id: "5303d74c64f66366f00cb9b2a94f3251bf5", name: "Ada Lovelace", image: ADA_IMAGE },
    note: "Medium takes no new applications.",
  },
  // Documented at https://developers.naver.com/docs/login/api/api.md
  naver: {
    authorize: { url: "https://nid.naver.com/oauth2.0/authorize", params: { scope: DEFAULT_SCOPE } },
    checks: ["state"],
    token: {
      url: "https://nid.naver.com/oauth2.0/token",
      auth: "basic",
      answer: { ...BEARER, refresh_token: "refresh-3456", expires_in: "3600" },
    },
    userinfo: [{
      url: "https://openapi.naver.com/v1/nid/me",
      answer: {
        resultcode: "00",
        message: "success",
        response: {
          id: "32742776",
          nickname: "Ada",
          name: "Ada Lovelace",
          email: "ada@naver.com",
          profile_image: ADA_IMAGE,
        },
      },
    }],
    user: { id: "32742776", name: "Ada", email: "ada@naver.com", image: ADA_IMAGE },
  },
  // Documented at https://docs.netlify.com/api/get-started/#authentication
  netlify: {
    authorize: { url: "https://app.netlify.com/authorize", params: { scope: "" } },
    checks: ["pkce"],
    token: { url: "https://api.netlify.com/oauth/token", auth: "basic", answer: BEARER },
    userinfo: [{
      url: "https://api.netlify.com/api/v1/user",
      answer: { id: "5b3e1f", full_name: "Ada Lovelace", email: "ada@example.com", avatar_url: ADA_IMAGE },
    }],
    user: { id: "5b3e1f", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://docs.oracle.com/en/cloud/saas/netsuite/ns-online-help/section_158074210415.html
  netsuite: {
    options: {
      accountID: "1234567",
      userinfo: "https://1234567.restlets.api.netsuite.com/app/site/hosting/restlet.nl?script=123&deploy=1",
    },
    authorize: {
      url: "https://1234567.app.netsuite.com/app/login/oauth2/authorize.nl",
      params: { scope: "restlets rest_webservices" },
    },
    checks: ["state"],
    token: {
      url: "https://1234567.suitetalk.api.netsuite.com/services/rest/auth/oauth2/v1/token",
      auth: "basic",
      answer: { ...BEARER, refresh_token: "refresh-3456", expires_in: "3600" },
    },
    userinfo: [{
      url: "https://1234567.restlets.api.netsuite.com/app/site/hosting/restlet.nl?script=123&deploy=1",
      answer: { id: 1337, name: "Ada Lovelace", email: "ada@example.com", location: 1, role: 3 },
    }],
    user: { id: "1337", name: "Ada Lovelace", email: "ada@example.com", image: null },
    note: "`userinfo` is the external address of a RESTlet of your own that returns the current user.",
  },
  // Documented at https://docs.nextcloud.com/server/latest/admin_manual/configuration_server/oauth2.html
  nextcloud: {
    options: { issuer: "https://cloud.acme.example" },
    authorize: {
      url: "https://cloud.acme.example/apps/oauth2/authorize",
      params: { scope: DEFAULT_SCOPE },
    },
    checks: ["pkce"],
    token: {
      url: "https://cloud.acme.example/apps/oauth2/api/v1/token",
      auth: "basic",
      answer: { ...TOKENS, refresh_token: "refresh-3456", user_id: "ada" },
    },
    userinfo: [{
      url: "https://cloud.acme.example/ocs/v1.php/cloud/users/ada",
      headers: { "ocs-apirequest": "true", accept: "application/json" },
      answer: {
        ocs: {
          meta: { status: "ok", statuscode: 100 },
          data: { id: "ada", displayname: "Ada Lovelace", email: "ada@example.com", enabled: true },
        },
      },
    }],
    globalFetch: ["userinfo"],
    user: {
      id: "ada",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: "https://cloud.acme.example/avatar/ada/512",
    },
  },
  // Documented at https://developers.notion.com/docs/authorization
  notion: {
    authorize: {
      url: "https://api.notion.com/v1/oauth/authorize",
      params: { scope: DEFAULT_SCOPE, owner: "user" },
    },
    checks: ["pkce"],
    token: {
      url: "https://api.notion.com/v1/oauth/token",
      auth: "basic",
      answer: {
        ...BEARER,
        bot_id: "b3414d65-1224-5ty9-6ffffffffff",
        workspace_name: "Acme",
        workspace_id: "j565j4d7x3",
        duplicated_template_id: null,
      },
    },
    userinfo: [{
      url: "https://api.notion.com/v1/users/me",
      headers: { "notion-version": "2022-06-28" },
      answer: {
        object: "user",
        id: "16d84278-ab0e-484c-9bdd-b35da3bd8905",
        type: "bot",
        bot: {
          owner: {
            type: "user",
            user: {
              object: "user",
              id: "5389a034-eb5c-47b5-8a9e-f79c99ef166c",
              name: "Ada Lovelace",
              avatar_url: ADA_IMAGE,
              type: "person",
              person: { email: "ada@example.com" },
            },
          },
        },
      },
    }],
    globalFetch: ["userinfo"],
    user: {
      id: "5389a034-eb5c-47b5-8a9e-f79c99ef166c",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: ADA_IMAGE,
    },
    note: "Needs the capability to read user information including e-mail addresses.",
  },
  // Documented at https://ossoapp.com/docs
  osso: {
    options: { issuer: "https://demo.ossoapp.com/" },
    authorize: { url: "https://demo.ossoapp.com/oauth/authorize", params: { scope: DEFAULT_SCOPE } },
    checks: ["pkce"],
    token: {
      url: "https://demo.ossoapp.com/oauth/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 600 },
    },
    userinfo: [{
      url: "https://demo.ossoapp.com/oauth/me",
      answer: { id: "af0d6b7c", name: "Ada Lovelace", email: "ada@example.com", idp: "Okta" },
    }],
    user: { id: "af0d6b7c", name: "Ada Lovelace", email: "ada@example.com" },
    note: 'The issuer has to end with "/".',
  },
  // Documented at https://osu.ppy.sh/docs/
  osu: {
    authorize: { url: "https://osu.ppy.sh/oauth/authorize", params: { scope: "identify" } },
    checks: ["pkce"],
    token: {
      url: "https://osu.ppy.sh/oauth/token",
      auth: "basic",
      answer: { ...TOKENS, expires_in: 86400, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://osu.ppy.sh/api/v2/me",
      answer: { id: 1, username: "ada", avatar_url: ADA_IMAGE, country_code: "GB" },
    }],
    user: { id: "1", name: "ada", image: ADA_IMAGE },
  },
  // Documented at https://docs.patreon.com/#oauth
  patreon: {
    authorize: {
      url: "https://www.patreon.com/oauth2/authorize",
      params: { scope: "identity identity[email]" },
    },
    checks: ["pkce"],
    token: {
      url: "https://www.patreon.com/api/oauth2/token",
      auth: "basic",
      answer: {
        ...TOKENS,
        expires_in: 2678400,
        refresh_token: "refresh-3456",
        scope: "identity identity[email]",
      },
    },
    userinfo: [{
      url: "https://www.patreon.com/api/oauth2/api/current_user",
      answer: {
        data: {
          type: "user",
          id: "32187",
          attributes: { full_name: "Ada Lovelace", email: "ada@example.com", image_url: ADA_IMAGE },
        },
      },
    }],
    user: { id: "32187", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://developers.pinterest.com/docs/getting-started/set-up-authentication-and-authorization/
  pinterest: {
    authorize: { url: "https://www.pinterest.com/oauth", params: { scope: "user_accounts:read" } },
    checks: ["pkce"],
    token: {
      url: "https://api.pinterest.com/v5/oauth/token",
      auth: "basic",
      answer: {
        ...BEARER,
        response_type: "authorization_code",
        expires_in: 2592000,
        refresh_token: "refresh-3456",
        refresh_token_expires_in: 31536000,
        scope: "user_accounts:read",
      },
    },
    userinfo: [{
      url: "https://api.pinterest.com/v5/user_account",
      answer: { account_type: "PINNER", profile_image: ADA_IMAGE, website_url: "", username: "ada" },
    }],
    user: { id: "ada", name: "ada", image: ADA_IMAGE },
  },
  // Documented at https://pipedrive.readme.io/docs/marketplace-oauth-authorization
  pipedrive: {
    authorize: { url: "https://oauth.pipedrive.com/oauth/authorize", params: { scope: DEFAULT_SCOPE } },
    checks: ["pkce"],
    token: {
      url: "https://oauth.pipedrive.com/oauth/token",
      auth: "basic",
      answer: {
        ...TOKENS,
        expires_in: 3599,
        refresh_token: "refresh-3456",
        scope: "base",
        api_domain: "https://acme.pipedrive.com",
      },
    },
    userinfo: [{
      url: "https://api.pipedrive.com/users/me",
      answer: {
        success: true,
        data: { id: 1234, name: "Ada Lovelace", email: "ada@example.com", icon_url: ADA_IMAGE },
      },
    }],
    user: { id: "1234", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://github.com/reddit-archive/reddit/wiki/OAuth2
  reddit: {
    authorize: { url: "https://www.reddit.com/api/v1/authorize", params: { scope: "identity" } },
    checks: ["state"],
    token: {
      url: "https://www.reddit.com/api/v1/access_token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 86400, scope: "identity" },
    },
    userinfo: [{
      url: "https://oauth.reddit.com/api/v1/me",
      answer: { id: "33bma", name: "ada", icon_img: ADA_IMAGE, verified: true, has_verified_email: true },
    }],
    user: { id: "33bma", name: "ada" },
  },
  // Documented at https://developer.spotify.com/documentation/web-api/tutorials/code-flow
  spotify: {
    authorize: { url: "https://accounts.spotify.com/authorize", params: { scope: "user-read-email" } },
    checks: ["pkce"],
    token: {
      url: "https://accounts.spotify.com/api/token",
      auth: "basic",
      answer: { ...TOKENS, refresh_token: "refresh-3456", scope: "user-read-email" },
    },
    userinfo: [{
      url: "https://api.spotify.com/v1/me",
      answer: {
        id: "ada1815",
        display_name: "Ada Lovelace",
        email: "ada@example.com",
        images: [{ url: ADA_IMAGE, height: 300, width: 300 }],
        type: "user",
      },
    }],
    user: { id: "ada1815", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://developers.strava.com/docs/authentication/
  strava: {
    authorize: {
      url: "https://www.strava.com/api/v3/oauth/authorize",
      params: { scope: "read", approval_prompt: "auto" },
    },
    checks: ["pkce"],
    token: {
      url: "https://www.strava.com/api/v3/oauth/token",
      auth: "body",
      answer: {
        ...TOKENS,
        expires_at: 1987654321,
        expires_in: 21600,
        refresh_token: "refresh-3456",
        athlete: { id: 134815 },
      },
    },
    userinfo: [{
      url: "https://www.strava.com/api/v3/athlete",
      answer: { id: 134815, username: "ada", firstname: "Ada", lastname: "Lovelace", profile: ADA_IMAGE },
    }],
    user: { id: "134815", name: "Ada Lovelace", image: ADA_IMAGE },
  },
  // Documented at https://developers.facebook.com/docs/threads/get-started/get-access-tokens-and-permissions
  threads: {
    authorize: { url: "https://threads.net/oauth/authorize", params: { scope: "threads_basic" } },
    checks: ["state"],
    token: {
      url: "https://graph.threads.net/oauth/access_token",
      auth: "body",
      answer: { access_token: "access-9012", user_id: 17841405793187218 },
    },
    userinfo: [{
      url: "https://graph.threads.net/v1.0/me?fields=id,username,threads_profile_picture_url",
      answer: { id: "17841405793187218", username: "ada", threads_profile_picture_url: ADA_IMAGE },
    }],
    user: { id: "17841405793187218", name: "ada", image: ADA_IMAGE },
  },
  // Documented at https://developers.tiktok.com/doc/login-kit-web/ and /oauth-user-access-token-management
  tiktok: {
    authorize: {
      url: "https://www.tiktok.com/v2/auth/authorize",
      params: { scope: "user.info.basic", client_key: CLIENT.id },
    },
    checks: ["pkce"],
    token: {
      url: "https://open.tiktokapis.com/v2/oauth/token/",
      auth: "body",
      params: { client_key: CLIENT.id },
      answer: {
        ...TOKENS,
        expires_in: 86400,
        open_id: "afd97af1-b87b-48b9-ac98-410aghda5344",
        refresh_expires_in: 31536000,
        refresh_token: "refresh-3456",
        scope: "user.info.basic",
      },
    },
    userinfo: [{
      url: "https://open.tiktokapis.com/v2/user/info/?fields=open_id,avatar_url,display_name",
      answer: {
        data: {
          user: {
            open_id: "afd97af1-b87b-48b9-ac98-410aghda5344",
            avatar_url: ADA_IMAGE,
            display_name: "Ada",
          },
        },
        error: { code: "ok", message: "", log_id: "20220829194722CBE87ED59D524E727021" },
      },
    }],
    globalFetch: ["token", "userinfo"],
    user: { id: "afd97af1-b87b-48b9-ac98-410aghda5344", name: "Ada", image: ADA_IMAGE },
    note: "Write `providers: [TikTok]`, or give it `clientId`: its requests name the client in ways of their own.",
  },
  // Documented at https://developer.todoist.com/api/v1
  todoist: {
    authorize: { url: "https://todoist.com/oauth/authorize", params: { scope: "data:read" } },
    checks: ["pkce"],
    token: {
      url: "https://todoist.com/oauth/access_token",
      auth: "body",
      answer: { access_token: "access-9012", token_type: "Bearer" },
    },
    userinfo: [{
      url: "https://api.todoist.com/api/v1/user",
      answer: { id: "2671355", email: "ada@example.com", full_name: "Ada Lovelace", avatar_big: ADA_IMAGE },
    }],
    user: { id: "2671355", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://trakt.docs.apiary.io
  trakt: {
    authorize: { url: "https://trakt.tv/oauth/authorize", params: { scope: "" } },
    checks: ["pkce"],
    token: {
      url: "https://api.trakt.tv/oauth/token",
      auth: "basic",
      answer: {
        ...BEARER,
        expires_in: 86400,
        refresh_token: "refresh-3456",
        scope: "public",
        created_at: 1487889741,
      },
    },
    userinfo: [{
      url: "https://api.trakt.tv/users/me?extended=full",
      headers: { "trakt-api-version": "2", "trakt-api-key": CLIENT.id },
      answer: {
        username: "ada",
        private: false,
        name: "Ada Lovelace",
        ids: { slug: "ada" },
        images: { avatar: { full: ADA_IMAGE } },
      },
    }],
    globalFetch: ["userinfo"],
    user: { id: "ada", name: "Ada Lovelace", image: ADA_IMAGE },
  },
  // Documented at https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/authorization-code
  twitter: {
    authorize: {
      url: "https://x.com/i/oauth2/authorize",
      params: { scope: "users.read tweet.read offline.access" },
    },
    checks: ["pkce", "state"],
    token: {
      url: "https://api.x.com/2/oauth2/token",
      auth: "basic",
      answer: {
        ...BEARER,
        expires_in: 7200,
        refresh_token: "refresh-3456",
        scope: "users.read tweet.read offline.access",
      },
    },
    userinfo: [{
      url: "https://api.x.com/2/users/me?user.fields=profile_image_url",
      answer: {
        data: { id: "2244994945", name: "Ada Lovelace", username: "ada", profile_image_url: ADA_IMAGE },
      },
    }],
    user: { id: "2244994945", name: "Ada Lovelace", image: ADA_IMAGE },
  },
  // Documented at https://dev.vk.com/en/api/access-token/authcode-flow-user
  vk: {
    authorize: { url: "https://oauth.vk.com/authorize", params: { scope: "email", v: "5.131" } },
    checks: ["pkce"],
    token: {
      url: "https://oauth.vk.com/access_token?v=5.131",
      auth: "body",
      answer: { access_token: "access-9012", expires_in: 43200, user_id: 66748, email: "ada@example.com" },
    },
    userinfo: [{
      url: "https://api.vk.com/method/users.get?fields=photo_100&v=5.131",
      headers: { "user-agent": "authjs" },
      answer: {
        response: [{ id: 66748, first_name: "Ada", last_name: "Lovelace", photo_100: ADA_IMAGE }],
      },
    }],
    globalFetch: ["userinfo"],
    user: { id: "66748", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://developer.webex.com/docs/integrations
  webex: {
    authorize: {
      url: "https://webexapis.com/v1/authorize",
      params: { scope: "spark:kms spark:people_read" },
    },
    checks: ["pkce"],
    token: {
      url: "https://webexapis.com/v1/access_token",
      auth: "basic",
      answer: {
        ...TOKENS,
        expires_in: 1209599,
        refresh_token: "refresh-3456",
        refresh_token_expires_in: 7775999,
      },
    },
    userinfo: [{
      url: "https://webexapis.com/v1/people/me",
      answer: {
        id: "Y2lzY29zcGFyazovL3VzL1BFT1BMRS9mNWIz",
        emails: ["ada@example.com"],
        displayName: "Ada Lovelace",
        avatar: ADA_IMAGE,
        type: "person",
      },
    }],
    user: {
      id: "Y2lzY29zcGFyazovL3VzL1BFT1BMRS9mNWIz",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: ADA_IMAGE,
    },
  },
  // Documented at https://developers.weixin.qq.com/doc/offiaccount/OA_Web_Apps/Wechat_webpage_authorization.html
  wechat: {
    authorize: {
      url: "https://open.weixin.qq.com/connect/oauth2/authorize",
      params: { scope: "snsapi_userinfo", appid: CLIENT.id },
      fragment: "wechat_redirect",
    },
    checks: ["state"],
    token: {
      url: `https://api.weixin.qq.com/sns/oauth2/access_token?appid=${CLIENT.id}&secret=${CLIENT.secret}`,
      auth: "basic",
      answer: {
        access_token: "access-9012",
        expires_in: 7200,
        refresh_token: "refresh-3456",
        openid: "o6_bmjrPTlm6_2sgVt7hMZOPfL2M",
        scope: "snsapi_userinfo",
      },
      headers: { "content-type": "text/plain" },
    },
    userinfo: [{
      url: "https://api.weixin.qq.com/sns/userinfo?" +
        "access_token=access-9012&openid=o6_bmjrPTlm6_2sgVt7hMZOPfL2M&lang=zh_CN",
      headers: { authorization: undefined },
      answer: {
        openid: "o6_bmjrPTlm6_2sgVt7hMZOPfL2M",
        nickname: "Ada",
        sex: 0,
        province: "",
        city: "",
        country: "",
        headimgurl: ADA_IMAGE,
        privilege: [],
      },
    }],
    globalFetch: ["userinfo"],
    user: { id: "o6_bmjrPTlm6_2sgVt7hMZOPfL2M", name: "Ada", image: ADA_IMAGE },
    note: "Write `providers: [WeChat]`, or give it `clientId` and `clientSecret`: its requests name the client in " +
      'ways of their own. For a website outside WeChat: `platformType: "WebsiteApp"`.',
  },
  // Documented at https://api.wikimedia.org/wiki/Authentication
  wikimedia: {
    authorize: { url: "https://meta.wikimedia.org/w/rest.php/oauth2/authorize", params: { scope: "" } },
    checks: ["pkce"],
    token: {
      url: "https://meta.wikimedia.org/w/rest.php/oauth2/access_token",
      auth: "basic",
      answer: { ...TOKENS, expires_in: 14400, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://meta.wikimedia.org/w/rest.php/oauth2/resource/profile",
      answer: {
        sub: "1234567",
        username: "Ada",
        editcount: 1815,
        confirmed_email: true,
        blocked: false,
        groups: ["*", "user"],
        realname: "",
        email: "ada@example.com",
      },
    }],
    user: { id: "1234567", name: "Ada", email: "ada@example.com", image: null },
  },
  // Documented at https://developer.wordpress.com/docs/oauth2/
  wordpress: {
    authorize: { url: "https://public-api.wordpress.com/oauth2/authorize", params: { scope: "auth" } },
    checks: ["pkce"],
    token: {
      url: "https://public-api.wordpress.com/oauth2/token",
      auth: "basic",
      answer: { ...BEARER, blog_id: "0", blog_url: null, scope: "auth" },
    },
    userinfo: [{
      url: "https://public-api.wordpress.com/rest/v1/me",
      answer: {
        ID: 5,
        display_name: "Ada Lovelace",
        username: "ada",
        email: "ada@example.com",
        avatar_URL: ADA_IMAGE,
      },
    }],
    user: { id: "5", name: "Ada Lovelace", email: "ada@example.com", image: ADA_IMAGE },
  },
  // Documented at https://workos.com/docs/reference/sso/profile
  workos: {
    options: { connection: "conn_01E4ZCR3C56J083X43JQXF3JK5" },
    authorize: {
      url: "https://api.workos.com/sso/authorize",
      params: { scope: DEFAULT_SCOPE, connection: "conn_01E4ZCR3C56J083X43JQXF3JK5" },
    },
    checks: ["pkce"],
    token: {
      url: "https://api.workos.com/sso/token",
      auth: "body",
      answer: { ...TOKENS, expires_in: 600, profile: { object: "profile" } },
    },
    userinfo: [{
      url: "https://api.workos.com/sso/profile",
      answer: {
        object: "profile",
        id: "prof_01DMC79VCBZ0NY2099737PSVF1",
        connection_type: "OktaSAML",
        email: "ada@example.com",
        first_name: "Ada",
        last_name: "Lovelace",
        raw_attributes: {},
      },
    }],
    user: {
      id: "prof_01DMC79VCBZ0NY2099737PSVF1",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: null,
    },
    note: "Needs `connection`, or `organization` or `provider` as a parameter of `authorization`.",
  },
  // Documented at https://yandex.com/dev/id/doc/en/codes/code-url
  yandex: {
    authorize: {
      url: "https://oauth.yandex.ru/authorize",
      params: { scope: "login:info login:email login:avatar" },
    },
    checks: ["pkce"],
    token: {
      url: "https://oauth.yandex.ru/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 31536000, refresh_token: "refresh-3456" },
    },
    userinfo: [{
      url: "https://login.yandex.ru/info?format=json",
      answer: {
        login: "ada",
        id: "1000034426",
        client_id: CLIENT.id,
        psuid: "1.AAceCw.tbHgw5DtJ9_zeqPrk-Ba2w",
        display_name: "Ada",
        real_name: "Ada Lovelace",
        default_email: "ada@yandex.ru",
        emails: ["ada@yandex.ru"],
        is_avatar_empty: false,
        default_avatar_id: "131652443",
      },
    }],
    user: {
      id: "1000034426",
      name: "Ada",
      email: "ada@yandex.ru",
      image: "https://avatars.yandex.net/get-yapic/131652443/islands-200",
    },
  },
  // Documented at https://www.zoho.com/accounts/protocol/oauth/web-apps/authorization.html
  zoho: {
    authorize: {
      url: "https://accounts.zoho.com/oauth/v2/auth",
      params: { scope: "AaaServer.profile.Read" },
    },
    checks: ["pkce"],
    token: {
      url: "https://accounts.zoho.com/oauth/v2/token",
      auth: "basic",
      answer: { ...TOKENS, scope: "AaaServer.profile.Read", api_domain: "https://www.zohoapis.com" },
    },
    userinfo: [{
      url: "https://accounts.zoho.com/oauth/user/info",
      answer: {
        First_Name: "Ada",
        Last_Name: "Lovelace",
        Display_Name: "ada",
        Email: "ada@example.com",
        ZUID: 5561231,
      },
    }],
    user: { id: "5561231", name: "Ada Lovelace", email: "ada@example.com", image: null },
    note: "For accounts in the data centre of the United States; others set the three endpoints to theirs.",
  },
  // Documented at https://developers.zoom.us/docs/integrations/oauth/
  zoom: {
    authorize: { url: "https://zoom.us/oauth/authorize", params: { scope: "" } },
    checks: ["pkce"],
    token: {
      url: "https://zoom.us/oauth/token",
      auth: "basic",
      answer: { ...BEARER, expires_in: 3599, refresh_token: "refresh-3456", scope: "user:read:user" },
    },
    userinfo: [{
      url: "https://api.zoom.us/v2/users/me",
      answer: {
        id: "KDcuGIm1QgePTO8WbOqwIQ",
        first_name: "Ada",
        last_name: "Lovelace",
        email: "ada@example.com",
        type: 2,
        pic_url: ADA_IMAGE,
        account_id: "EAAAAbbbbbCCCCHMA",
      },
    }],
    user: {
      id: "KDcuGIm1QgePTO8WbOqwIQ",
      name: "Ada Lovelace",
      email: "ada@example.com",
      image: ADA_IMAGE,
    },
  },
} satisfies ProviderSamples;
