/**
 * E-mail providers as core is given them: with settings that work, and errors that tell a person's mistake from a
 * mail service that is down.
 *
 * @module
 */
import { EmailSignInError } from "@auth/core/errors";
import type { EmailConfig, Provider } from "@auth/core/providers";
import { normalizeAddress } from "./email_address.ts";
import { redactError } from "../http/redact_error.ts";

/** The environment, in which an empty variable is an unset one. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What was typed is no e-mail address; the message does not repeat it. */
class EmailAddressRefused extends EmailSignInError {
  static override readonly type = "EmailAddressRefused";
}

/** The mail service refused, failed or took too long. */
class EmailNotSent extends EmailSignInError {
  static override readonly type = "EmailNotSent";
}

/**
 * The provider with its settings mended and its functions guarded; any other provider as it is.
 *
 * @param provider A provider that has the environment's defaults.
 * @param env Where its API key may be.
 */
export function prepareEmailProvider(provider: Provider, env: Environment): Provider {
  if (typeof provider === "function" || provider.type !== "email") return provider;
  const { options, ...own } = provider as EmailConfig & { options?: Partial<EmailConfig> };
  const merged: EmailConfig = { ...own, ...options };
  return {
    ...own,
    options: {
      ...options,
      ...mended(merged, env),
      normalizeIdentifier: guardNormalizer(merged),
      sendVerificationRequest: guardSender(merged),
    },
  } as unknown as Provider;
}

/** What would keep a provider of core from working as documented. */
function mended({ id, apiKey, from }: EmailConfig, env: Environment): Partial<EmailConfig> {
  const fromEnv = env[`AUTH_${id.toUpperCase().replace(/-/g, "_")}_KEY`];
  return {
    // Loops has an empty key by default, which hides that of the environment from core.
    ...(!apiKey && fromEnv && { apiKey: fromEnv }),
    // These two put the address into a place where a display name makes it invalid.
    ...(from && (id === "mailgun" || id === "sendgrid") && { from: from.replace(/^.*<(.*)>\s*$/s, "$1") }),
  };
}

function guardNormalizer({ normalizeIdentifier }: EmailConfig): (identifier: string) => string {
  return (identifier) => {
    if (!identifier) throw new EmailAddressRefused("There is no e-mail address in the request");
    if (!normalizeIdentifier) {
      const address = normalizeAddress(identifier);
      if (address === undefined) throw new EmailAddressRefused("That is no e-mail address");
      return address;
    }
    try {
      return normalizeIdentifier(identifier);
    } catch (error) {
      throw new EmailAddressRefused("That is no e-mail address", { cause: redactError(error, identifier) });
    }
  };
}

function guardSender(provider: EmailConfig): EmailConfig["sendVerificationRequest"] {
  const send = async (params: SendParams) => {
    try {
      // Through `provider` and not a bare function: a sender may use `this`.
      await provider.sendVerificationRequest(withOwnServer(params, provider));
    } catch (error) {
      const { identifier, token, url } = params;
      const { apiKey, server } = provider;
      const cause = redactError(error, [identifier, token, url, apiKey, server]);
      throw new EmailNotSent("The sign-in link could not be mailed", { cause });
    }
  };
  return (params) => {
    const sent = send(params);
    // Core does not wait for it at once: a quick failure would count as unhandled and end the process.
    sent.catch(() => {});
    return sent;
  };
}

/**
 * Core merges the settings of the SMTP server into its own default, member by member: that leaves an empty user name
 * where none was set, which a server refuses, and of a certificate in a Buffer it leaves no Buffer.
 */
function withOwnServer(params: SendParams, { server }: EmailConfig): SendParams {
  return server === undefined ? params : { ...params, provider: { ...params.provider, server } };
}

type SendParams = Parameters<EmailConfig["sendVerificationRequest"]>[0];
