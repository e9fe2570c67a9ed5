/**
 * Mails over SMTP, with nodemailer.
 *
 * Nodemailer is an optional peer, so nothing here imports it by name: bundlers and Deno would want it for
 * every application.
 */
import type { EmailConfig } from "@auth/core/providers";
import type { EmailMessage } from "../types.ts";
import { AUTOMATIC } from "./mail_services.ts";

type Send = EmailConfig["sendVerificationRequest"];
type SendParams = Parameters<Send>[0];

export interface SmtpParts {
  readonly createTransport: (server: unknown) => {
    sendMail(mail: object): Promise<{ rejected?: unknown[]; pending?: unknown[] }>;
  };
  readonly send: Send;
}

/** Where {@linkcode withSmtp} keeps the parts. Copies of a provider have it, too. */
export const SMTP: unique symbol = Symbol.for("fastify-authjs.smtp") as never;

/** The provider of core, with what its mails can be sent by. */
export function withSmtp(provider: EmailConfig, createTransport: unknown): EmailConfig {
  return Object.assign(provider, { [SMTP]: { createTransport, send: provider.sendVerificationRequest } });
}

/**
 * The parts for a provider that was imported from core itself.
 *
 * @returns `undefined` if they cannot be loaded, as in a bundle.
 */
export async function loadSmtp(): Promise<SmtpParts | undefined> {
  const load = async (name: string) => await import(/* webpackIgnore: true */ name);
  try {
    const { createTransport } = await load("nodemailer");
    const { default: factory } = await load("@auth/core/providers/nodemailer");
    return { createTransport, send: factory({ server: "-" }).sendVerificationRequest };
  } catch {
    return undefined;
  }
}

export async function sendOverSmtp(
  { createTransport }: SmtpParts,
  message: EmailMessage,
  { identifier, provider: { server, from } }: SendParams,
): Promise<void> {
  const mail = { to: identifier, from, headers: AUTOMATIC, ...message };
  const { rejected, pending } = await createTransport(server).sendMail(mail);
  const failed = [...rejected ?? [], ...pending ?? []].filter(Boolean);
  if (failed.length > 0) throw new Error("The SMTP server refused the recipient");
}
