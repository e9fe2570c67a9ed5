/** A sign-in at the test issuer, from the application's sign-in route to its callback. */
import type { LightMyRequestResponse } from "fastify";
import { injectWith, type InjectWithCookies, type TestedApp } from "./inject.ts";
import { type IssuerUser, USER } from "./issuer_service.ts";

/** Who signs in, and where. */
export interface IssuerSignInOptions {
  /**
   * The user.
   *
   * @default that of the issuer
   */
  readonly user?: IssuerUser;
  /**
   * The id of the application's provider.
   *
   * @default "issuer" that of `issuer.provider()`
   */
  readonly provider?: string;
  /**
   * Where the plugin is registered.
   *
   * @default "/auth"
   */
  readonly prefix?: string;
  /**
   * Parameters for the authorization request, such as `{ acr_values: "mfa" }`.
   *
   * @default {}
   */
  readonly parameters?: Readonly<Record<string, string>>;
}

const FORM = { accept: "application/json", "content-type": "application/x-www-form-urlencoded" };

/**
 * Signs in.
 *
 * @throws {Error} with what the application answered, if it failed.
 */
export async function signInAtIssuer(
  app: TestedApp,
  issuer: string,
  { user, provider = "issuer", prefix = "/auth", parameters = {} }: IssuerSignInOptions,
): Promise<InjectWithCookies> {
  const inject = injectWith(app);
  const csrf = await inject(`${prefix}/csrf`);
  if (csrf.statusCode !== 200) {
    throw failed(csrf, `no auth routes at "${prefix}", which \`prefix\` names`);
  }
  const started = await inject({
    method: "POST",
    url: `${prefix}/signin/${provider}?${new URLSearchParams(parameters)}`,
    headers: FORM,
    payload: `${new URLSearchParams({ csrfToken: csrf.json().csrfToken })}`,
  });
  if (started.statusCode !== 200) {
    throw failed(started, `the application refused to start it with "${provider}"`);
  }
  const callback = await visitIssuer(started.json().url, issuer, user);
  // Only the query counts: the public path may be another than that in the application.
  const url = `${prefix}/callback/${provider}${callback.search}`;
  const finished = await inject({ url, headers: { accept: FORM.accept } });
  if (finished.statusCode !== 200) throw failed(finished, "the application refused it");
  return inject;
}

/** What a browser is redirected to by the authorization endpoint. */
async function visitIssuer(address: string, issuer: string, user: IssuerUser | undefined): Promise<URL> {
  if (!address.startsWith(`${issuer}/`)) {
    throw new Error(
      `The sign-in leads to ${address}, and the issuer is ${issuer}: which \`provider\` uses it?`,
    );
  }
  const url = new URL(address);
  if (user !== undefined) url.searchParams.set(USER, JSON.stringify(user));
  const response = await fetch(url, { redirect: "manual" });
  const body = await response.text();
  const location = response.headers.get("location");
  if (location !== null) return new URL(location);
  throw new Error(`The issuer answered with ${response.status}: ${body}`);
}

function failed({ statusCode, body }: LightMyRequestResponse, why: string): Error {
  return new Error(`The sign-in failed, ${why}: ${statusCode} ${body.slice(0, 500)}`);
}
