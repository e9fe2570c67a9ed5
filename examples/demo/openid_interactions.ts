import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
// @ts-types="@types/oidc-provider"
import type Provider from "oidc-provider";
import type { InteractionResults } from "oidc-provider";
import { sendPage } from "./pages/html.ts";
import { consentPage, loginPage, providerErrorPage } from "./pages/openid.ts";
import { findPerson, type ProviderName } from "./people.ts";
import { addAssets } from "./assets.ts";

type Interaction = Awaited<ReturnType<Provider["interactionDetails"]>>;

/** Adds the two pages that the OpenID Provider shows between the application's request and its answer. */
export async function addInteractions(
  scope: FastifyInstance,
  name: ProviderName,
  provider: () => Provider,
): Promise<void> {
  await addAssets(scope);
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => done(null, new URLSearchParams(body as string)),
  );
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    const { statusCode = 500 } = error;
    if (statusCode >= 500) request.log.error(error);
    const text = statusCode === 400
      ? "This sign-in is over, or was started in another browser."
      : "The OpenID Provider cannot answer this.";
    return sendPage(reply.code(statusCode), providerErrorPage(name, error.code ?? error.name, text));
  });

  const details = (request: FastifyRequest, reply: FastifyReply): Promise<Interaction> =>
    provider().interactionDetails(request.raw, reply.raw);

  const finish = async (request: FastifyRequest, reply: FastifyReply, results: InteractionResults) => {
    const url = await provider().interactionResult(request.raw, reply.raw, results);
    return reply.redirect(url, 303);
  };

  scope.get("/interaction/:uid", async (request, reply) => {
    const { uid, prompt, session } = await details(request, reply);
    if (prompt.name === "login") return sendPage(reply, loginPage(name, { uid }));
    const person = findPerson(session?.accountId ?? "", name);
    return sendPage(reply, consentPage(name, { uid, name: person?.name ?? "" }));
  });

  scope.post<{ Body?: URLSearchParams }>("/interaction/:uid/login", async (request, reply) => {
    const { uid } = await details(request, reply);
    const person = findPerson(request.body?.get("login") ?? "", name);
    if (!person || person.password !== request.body?.get("password")) {
      return sendPage(reply.code(401), loginPage(name, { uid, failed: true }));
    }
    return finish(request, reply, { login: { accountId: person.login } });
  });

  scope.post("/interaction/:uid/consent", async (request, reply) => {
    const grantId = await grantAsked(provider(), await details(request, reply));
    return finish(request, reply, { consent: { grantId } });
  });

  scope.post(
    "/interaction/:uid/cancel",
    (request, reply) =>
      finish(request, reply, {
        error: "access_denied",
        error_description: "The user cancelled the sign-in.",
      }),
  );
}

/** Grants what the application asked for, on top of what it was granted before. */
async function grantAsked(provider: Provider, interaction: Interaction): Promise<string> {
  const { grantId, params, prompt, session } = interaction;
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session?.accountId ?? "", clientId: String(params.client_id) });
  if (!grant) throw new Error("The grant has expired.");
  const { missingOIDCScope } = prompt.details as { missingOIDCScope?: string[] };
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
  return await grant.save();
}
