/**
 * The callback of an OAuth or OpenID Connect provider, around core: what cannot succeed is refused before a request
 * leaves, and a failed sign-in leaves no check cookie behind that could be used once more.
 *
 * @module
 */
import { InvalidCheck } from "@auth/core/errors";
import {
  type CheckCookie,
  checkCookies,
  clearChecks,
  crossSiteCookies,
  openCheck,
  strayCheck,
} from "./check_cookies.ts";
import { callCore } from "../core.ts";
import type { ConfiguredProvider } from "../provider/facts.ts";
import { type ProviderRequest, toErrorPage } from "../provider/request.ts";

/** Has core answer, with what a sign-in through OAuth or OpenID Connect needs besides. */
export async function answerForOAuth(step: ProviderRequest): Promise<Response> {
  const { request, action, provider, resolved } = step;
  const call = provider.formPost
    ? { ...step.call, cookies: crossSiteCookies(resolved.core.cookies) }
    : step.call;
  return await (action === "callback"
    ? answerCallback({ ...step, call })
    : callCore(resolved, request, call));
}

async function answerCallback(step: ProviderRequest): Promise<Response> {
  const { request, provider, resolved, call } = step;
  const { origin } = new URL(request.url);
  const parameters = await parametersOf(request, provider);
  const header = request.headers.get("cookie") ?? "";
  const settings = call.cookies ? { ...resolved.core, cookies: call.cookies } : resolved.core;
  const cookies = checkCookies(provider, settings, origin.startsWith("https:"), header);

  if (mayBelongElsewhere(provider, origin, parameters)) {
    const response = await fromCore(step);
    return leadsElsewhere(response, origin) ? response : clearChecks(response, cookies);
  }
  const problem = await findProblem(step, cookies, parameters);
  if (problem === undefined) return clearChecks(await fromCore(step), cookies);
  call.logger.error(new InvalidCheck(problem));
  return clearChecks(toErrorPage(step, "error", "Configuration"), cookies);
}

type Parameters = Record<string, unknown>;

/** The parameters where core looks for them. */
async function parametersOf(request: Request, { formPost }: ConfiguredProvider): Promise<Parameters> {
  if (!formPost) return Object.fromEntries(new URL(request.url).searchParams);
  return request.method === "POST" ? await request.clone().json() : {};
}

/** On a redirect proxy the state says whose callback it is; core opens it and sends the browser on. */
function mayBelongElsewhere(
  { redirectProxyUrl }: ConfiguredProvider,
  origin: string,
  { state }: Parameters,
): boolean {
  return state !== undefined && redirectProxyUrl !== undefined && URL.canParse(redirectProxyUrl) &&
    new URL(redirectProxyUrl).origin === origin;
}

function leadsElsewhere(response: Response, origin: string): boolean {
  const location = response.headers.get("location");
  return location !== null && URL.canParse(location) && new URL(location).origin !== origin;
}

/** Why the callback is none that this browser may finish, in the order in which core would find out. */
async function findProblem(
  { provider, resolved }: ProviderRequest,
  cookies: readonly CheckCookie[],
  parameters: Parameters,
): Promise<string | undefined> {
  for (const cookie of cookies) {
    const value = await openCheck(cookie, provider, resolved.core);
    if (value === undefined) return strayCheck(cookie, provider);
    if (cookie.check === "state" && value !== parameters.state) {
      return `The callback of "${provider.id}" came with the state of another sign-in.`;
    }
  }
}

/** Where the profile cannot be read core means to lead to the sign-in page, and leads to the callback once more. */
async function fromCore(step: ProviderRequest): Promise<Response> {
  const { request, resolved, call } = step;
  const response = await callCore(resolved, request, call);
  if (response.headers.get("location") !== `${request.url}/signin`) return response;
  return toErrorPage(step, "signIn", "OAuthCallbackError");
}
