/** What a request is counted as: an attempt to sign in to an account, a mail to an address, or a token. */
import { MissingCSRF } from "@auth/core/errors";
import type { EmailConfig } from "@auth/core/providers";
import type { Answer } from "../../core/answer.ts";
import type { RequestContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { FastifyAuthError } from "../../errors.ts";
import { isPrefetch } from "../../http/request.ts";
import { codeIn } from "../../routes/callback/email_code.ts";
import { signedInBy } from "../../session/open.ts";
import type { RateLimitSettings } from "./settings.ts";
import { foldName } from "../../utils/fold_name.ts";

type AccountName = RateLimitSettings["accountName"];

export interface Subject {
  /** An attempt may be a guess; a mail costs its recipient; a token may be a row in the database. */
  readonly kind: "attempt" | "mail" | "token";
  /** A key of the account, recipient or user, in one spelling; `undefined` if it is unknown. */
  readonly account: string | undefined;
}

/**
 * What a request is counted as besides a request of its address. Without a valid CSRF token no mail is sent and
 * no token is issued: such requests must not use up those of a user.
 */
export async function subjectOf(
  context: RequestContext,
  accountName: AccountName,
): Promise<Subject | undefined> {
  const { action, method, limited, provider: { id = "", type = "" } = {} } = context;
  const subject = (kind: Subject["kind"], account: string | undefined) => ({
    kind,
    account: account === undefined ? undefined : `${kind} ${id} ${account}`,
  });
  const mails = action === "signin" && method === "POST" && type === "email";
  if ((limited === "tokens" || mails) && csrfRefusal(context) !== undefined) return undefined;
  // Nobody is signed in, or the database does not say who.
  const user = () => signedInBy(context.held.token, context.settings).then((user) => user?.sub).catch(() => undefined);
  if (limited === "tokens") return subject("token", await user());
  if (mails) return subject("mail", folded(recipientOf(context)));
  if (action !== "callback" || !mayBeGuess(context)) return undefined;
  return subject("attempt", folded(ACCOUNTS[type]?.(context, accountName)));
}

function folded(name: string | undefined): string | undefined {
  return name === undefined ? undefined : foldName(name);
}

/** What a browser sent. Another one has another CSRF cookie. */
export function sentBy(context: RequestContext): string {
  const { origin, method, provider, headers, query, body, fromApplication } = context;
  const browser = [headers.cookie, headers["user-agent"]];
  return JSON.stringify([origin.href, method, provider?.id, fromApplication, browser, query, body]);
}

/** Whether the answer to an attempt is that of a failure which a guess may be behind. */
export function hasFailed({ error, session }: Answer): boolean {
  // Nothing was compared: the token is missing, or the database fails.
  return !session && !(error instanceof MissingCSRF || error instanceof FastifyAuthError);
}

/**
 * Whether a callback compares something that can be guessed: codes of an authorization server are its own to
 * protect, and a mailed link that is fetched in advance is not used.
 */
function mayBeGuess(context: RequestContext): boolean {
  const { provider, method, query, headers } = context;
  if (provider?.type !== "email") return provider?.type === "credentials" || provider?.type === "webauthn";
  // Guesses at codes are counted where they are compared.
  if (codeIn(context) !== undefined) return false;
  return method === "POST" || (!isPrefetch(headers) && new URLSearchParams(query).has("token"));
}

const ACCOUNTS: Readonly<
  Record<string, (context: RequestContext, accountName: AccountName) => string | undefined>
> = {
  credentials: ({ provider, body = {} }, accountName) => accountName(body, provider!.id),
  // Adapters may find a token by itself.
  email: ({ body, query }) => textOf(body?.email) ?? new URLSearchParams(query).get("email") ?? "",
  webauthn({ body }) {
    try {
      return textOf(JSON.parse(String(body?.data)).id);
    } catch {
      return undefined;
    }
  },
};

/**
 * The recipient of a mail, as the provider writes it: variants that it takes for one are counted as one, and
 * so are sub-addresses (RFC 5233), such as "ada+news@example.com".
 */
function recipientOf({ body, provider, config }: RequestContext): string | undefined {
  const email = config.coreProviders.get(provider!.id) as EmailConfig | undefined;
  try {
    const address = email?.normalizeIdentifier?.(textOf(body?.email) ?? "");
    return address?.replace(/^([^@+]+)\+[^@]*(?=@)/, "$1");
  } catch {
    // Core refuses it for the same reason.
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
