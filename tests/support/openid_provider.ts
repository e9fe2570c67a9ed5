/**
 * A real OpenID Provider (`oidc-provider`) on loopback whose only user, Ada, agrees to everything, and a browser that
 * goes through it.
 *
 * @module
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
// Deep, because the package's entry point warns about every runtime but Node.
// @ts-types="@types/oidc-provider"
import { Provider } from "oidc-provider/lib/provider.js";
import MemoryAdapter from "oidc-provider/lib/adapters/memory_adapter.js";
// @ts-types="@types/oidc-provider"
import type { AdapterConstructor, ClientMetadata, Configuration } from "oidc-provider";

/** What a running provider offers a test. */
export interface OpenIdProvider extends AsyncDisposable {
  readonly issuer: string;
  /** The requests it got, as `POST /token`. */
  readonly requests: string[];
  /** What the token endpoint was sent: its headers and its form. */
  readonly tokenRequests: { headers: IncomingMessage["headers"]; form: URLSearchParams }[];
  /** How often Ada had to log in. */
  readonly logins: number;
  /** How she does. */
  authentication: { acr?: string; amr?: string[] };
}

/** Starts one that knows these clients. */
export async function startOpenIdProvider(
  clients: ClientMetadata[],
  configuration: Configuration = {},
): Promise<OpenIdProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const own = defaults();
  const features = { ...own.features, ...configuration.features };
  const provider = new Provider(issuer, { ...own, clients, ...configuration, features });
  const state = {
    issuer,
    requests: [] as string[],
    tokenRequests: [] as OpenIdProvider["tokenRequests"],
    logins: 0,
    authentication: {} as OpenIdProvider["authentication"],
  };

  // What the application sends to the token endpoint is read by the provider itself; here it is only looked at.
  provider.use(async (context, next) => {
    await next();
    const { oidc } = context as unknown as { oidc?: { route?: string; body?: Record<string, string> } };
    if (oidc?.route !== "token") return;
    state.tokenRequests.push({ headers: context.req.headers, form: new URLSearchParams(oidc.body) });
  });
  const handle = provider.callback();
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!.split("?")[0]!;
    state.requests.push(`${request.method} ${path}`);
    if (!path.startsWith("/interaction/")) return void handle(request, response);
    state.logins++;
    void provider.interactionFinished(request, response, {
      login: { accountId: "ada", ...state.authentication },
    });
  });
  return Object.assign(state, { [Symbol.asyncDispose]: () => stop(server) });
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

function defaults(): Configuration {
  return {
    // Its own default, which it warns about if it recognises it.
    adapter: class extends MemoryAdapter {} as unknown as AdapterConstructor,
    jwks: { keys: [signingKey()] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    claims: { openid: ["sub"], profile: ["name"], email: ["email"] },
    conformIdTokenClaims: false,
    features: {
      devInteractions: { enabled: false },
      revocation: {
        enabled: true,
        allowedPolicy: (_context, client, token) => Promise.resolve(token.clientId === client.clientId),
      },
      rpInitiatedLogout: {
        logoutSource: (context, form) => {
          context.body = form;
          return Promise.resolve();
        },
        postLogoutSuccessSource: (context) => {
          context.body = "signed out";
          return Promise.resolve();
        },
      },
    },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: (_context, client) => Promise.resolve(client.grantTypeAllowed("refresh_token")),
    ttl: {
      Session: 3600,
      Interaction: 3600,
      Grant: 3600,
      AccessToken: 3600,
      IdToken: 3600,
      RefreshToken: 3600,
    },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => Promise.resolve({ sub: accountId, name: "Ada", email: "ada@example.com" }),
    }),
    // No user is asked for consent.
    async loadExistingGrant({ oidc }) {
      const id = oidc.session!.grantIdFor(oidc.client!.clientId);
      const known = id === undefined ? undefined : await oidc.provider.Grant.find(id);
      if (known !== undefined) return known;
      const grant = new oidc.provider.Grant({
        clientId: oidc.client!.clientId,
        accountId: oidc.session!.accountId!,
      });
      grant.addOIDCScope("openid profile email offline_access");
      await grant.save();
      return grant;
    },
  };
}

function signingKey() {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "signing" };
}

/** Where a browser ends up: at an address that is not the provider's, or with a form that it would post there. */
export interface Arrival {
  readonly url: string;
  /** The fields of a form that posts itself. */
  readonly form?: Record<string, string>;
}

/** A browser at the provider: it keeps the provider's cookies and follows its redirects. */
export class ProviderBrowser {
  readonly #cookies = new Map<string, string>();

  /** Goes to an address of the provider, until it leads elsewhere or shows a page. */
  async visit(address: string, form?: Record<string, string>): Promise<Arrival> {
    const { origin } = new URL(address);
    let url = address;
    let body = form && new URLSearchParams(form);
    for (let hops = 0; hops < 10; hops++) {
      const response = await this.#fetch(url, body);
      body = undefined;
      const location = response.headers.get("location");
      if (location === null) return toArrival(url, await response.text());
      await response.body?.cancel();
      url = new URL(location, url).href;
      if (new URL(url).origin !== origin) return { url };
    }
    throw new Error(`The provider redirects without end: ${url}`);
  }

  async #fetch(url: string, body: URLSearchParams | undefined): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      headers: { cookie },
      redirect: "manual",
      ...(body && { method: "POST", body }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}

/** The page's form, if it has one: the answer of `form_post`, or a question to be confirmed. */
function toArrival(url: string, html: string): Arrival {
  const action = /<form[^>]*\saction="([^"]*)"/.exec(html)?.[1];
  if (action === undefined) return { url };
  const inputs = [...html.matchAll(/<input[^>]*\sname="([^"]*)"[^>]*\svalue="([^"]*)"/g)];
  return {
    url: new URL(action.replaceAll("&amp;", "&"), url).href,
    form: Object.fromEntries(inputs.map(([, name = "", value = ""]) => [name, value])),
  };
}
