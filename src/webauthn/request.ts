/**
 * The requests of an authenticator, around core: for the options of a ceremony, and with its result.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { checkCookies, clearChecks, openCheck, strayCheck } from "../oauth/check_cookies.ts";
import { callCore } from "../core.ts";
import { normalizeAddress } from "../email/address.ts";
import { type ProviderRequest, toErrorPage, toRedirect } from "../provider/request.ts";
import { credentialProblem } from "./credential.ts";
import { PasskeyRefused, refusalIn, SignInElsewhere } from "./errors.ts";
import { watchViewer } from "./viewer.ts";

/** Has core answer, with what a sign-in through WebAuthn needs besides. */
export async function answerForWebAuthn(step: ProviderRequest): Promise<Response> {
  if (step.action === "callback") return await answerCallback(step);
  if (step.action === "webauthn-options") return await answerOptions(step);
  return await callCore(step.resolved, step.request, step.call);
}

/** The result of a ceremony. Whatever becomes of it, its challenge is gone from the browser. */
async function answerCallback(step: ProviderRequest): Promise<Response> {
  const { request, provider, resolved } = step;
  const secure = request.url.startsWith("https:");
  const cookies = checkCookies(provider, resolved.core, secure, request.headers.get("cookie") ?? "");
  const body = await request.clone().json() as Record<string, unknown>;

  // Without a challenge of this browser's nothing can be verified, so nothing is looked up.
  const stray = await Promise.all(
    cookies.map(async (cookie) =>
      await openCheck(cookie, provider, resolved.core) === undefined
        ? strayCheck(cookie, provider)
        : undefined
    ),
  );
  const problem = credentialProblem(body) ?? stray.find((text) => text !== undefined);
  if (problem === undefined) return clearChecks(await fromCore(step, body.action === "register"), cookies);
  step.call.logger.error(new PasskeyRefused(problem));
  return clearChecks(toErrorPage(step, "error", "WebAuthnVerificationError"), cookies);
}

async function fromCore(step: ProviderRequest, registers: boolean): Promise<Response> {
  const { request, resolved, call } = step;
  let reason: PasskeyRefused | SignInElsewhere | undefined;
  const error = (error: Error) => {
    reason = error instanceof SignInElsewhere ? error : refusalIn(error);
    if (!(reason instanceof SignInElsewhere)) call.logger.error(reason ?? error);
  };
  const response = await callCore(resolved, request, {
    ...call,
    logger: { ...call.logger, error },
    ...(registers && { view: toRegister }),
  });
  // The database failed, which is another matter.
  if (response.status === 503 || reason === undefined) return response;
  return reason instanceof SignInElsewhere
    ? toRedirect(request, await redirectTo(reason.url, step))
    : toErrorPage(step, "error", "WebAuthnVerificationError");
}

/**
 * The database while somebody registers.
 *
 * A credential registers once (WebAuthn section 7.1). Its id is no secret and comes from the client: core takes a known
 * one for a sign-in of the user it belongs to, whatever key comes with it, and leaves it to the database to object.
 *
 * And a user has an id. Core gives one to those of every other kind of provider, and some adapters rely on it.
 */
function toRegister(adapter: Adapter): Adapter {
  return {
    ...adapter,
    async getUserByAccount(account) {
      const known = await adapter.getAuthenticator!(account.providerAccountId) ??
        await adapter.getUserByAccount!(account);
      if (known) throw new PasskeyRefused("The credential is registered already.");
      return null;
    },
    createUser: (user) => adapter.createUser!({ ...user, id: user.id ?? crypto.randomUUID() }),
  };
}

async function redirectTo(url: string, { request, resolved }: ProviderRequest): Promise<string> {
  const { origin: baseUrl } = new URL(request.url);
  const { redirect } = resolved.core.callbacks ?? {};
  if (redirect) return await redirect({ url, baseUrl });
  // As core does by default.
  if (url.startsWith("/")) return `${baseUrl}${url}`;
  return URL.canParse(url) && new URL(url).origin === baseUrl ? url : baseUrl;
}

/** The options of a ceremony. A script asks for them, so it is told in JSON what is wrong. */
async function answerOptions({ request, provider, resolved, call }: ProviderRequest): Promise<Response> {
  const url = new URL(request.url);
  if (!normalizeEmail(url)) return refuseOptions("That is no e-mail address.");
  const { jwt, view, hasNoAddress } = watchViewer(resolved.core.jwt);
  const cannotRegister = () => hasNoAddress() && url.searchParams.get("action") === "register";
  let failed = false;
  const error = (error: Error) => {
    failed = true;
    if (!cannotRegister()) call.logger.error(error);
  };
  const response = await callCore(resolved, new Request(url, request), {
    ...call,
    jwt,
    view,
    logger: { ...call.logger, error },
  });
  if (!failed || response.status === 503) {
    const [challenge] = checkCookies(provider, resolved.core, url.protocol === "https:", "");
    return withOnlyCookie(response, challenge!.name);
  }
  return cannotRegister()
    ? refuseOptions("A passkey is registered under an e-mail address, and this user has none.")
    : Response.json({ error: "Configuration" }, { status: 500 });
}

/**
 * A page asks for options beside its CSRF token, and both answers to a new browser would bring a CSRF cookie: the token
 * goes with one of them, and the browser keeps the other.
 */
function withOnlyCookie(response: Response, name: string): Response {
  const headers = new Headers(response.headers);
  headers.delete("set-cookie");
  for (const line of response.headers.getSetCookie()) {
    if (line.startsWith(`${name}=`)) headers.append("set-cookie", line);
  }
  return new Response(response.body, { status: response.status, headers });
}

function refuseOptions(error: string): Response {
  return Response.json({ error }, { status: 400 });
}

/** As for sign-in links, or "Ada@…" would become a user beside "ada@…". False where there is no making it an address. */
function normalizeEmail({ searchParams }: URL): boolean {
  const typed = searchParams.get("email");
  if (!typed) return true;
  const address = normalizeAddress(typed);
  if (address !== undefined) searchParams.set("email", address);
  return address !== undefined;
}
