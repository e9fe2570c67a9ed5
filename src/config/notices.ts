/** The log, and warnings about the set-up that come up after boot, such as a date that cannot be read. */

/**
 * The logger of Fastify, as far as it is used: `error` for a failure of the application, its adapter or a provider,
 * `warn` for what the operator should check, `info` for a mistake of a client.
 */
export type Log = Readonly<
  Record<"error" | "warn" | "info" | "debug", (details: object, message: string) => void>
>;

/** The stable code of a warning, as `code` on its line of the log. docs/troubleshooting.md says what each means. */
export type NoticeCode =
  | "FST_AUTHJS_WARN_OPTION"
  | "FST_AUTHJS_WARN_SECRET"
  | "FST_AUTHJS_WARN_CREDENTIALS"
  | "FST_AUTHJS_WARN_TLS"
  | "FST_AUTHJS_WARN_PROVIDER"
  | "FST_AUTHJS_WARN_WEBAUTHN"
  | "FST_AUTHJS_WARN_HOST"
  | "FST_AUTHJS_WARN_COOKIE"
  | "FST_AUTHJS_WARN_LIFETIME"
  | "FST_AUTHJS_WARN_ADAPTER"
  | "FST_AUTHJS_WARN_SHARED_SESSIONS"
  | "FST_AUTHJS_WARN_RATE_LIMIT"
  | "FST_AUTHJS_WARN_NO_STORE"
  | "FST_AUTHJS_WARN_OPENAPI"
  | "FST_AUTHJS_WARN_ORIGIN"
  | "FST_AUTHJS_WARN_CALLBACK_URL"
  | "FST_AUTHJS_WARN_CALLBACK"
  | "FST_AUTHJS_WARN_CONFIG_OBJECT"
  | "FST_AUTHJS_WARN_ROLES"
  | "FST_AUTHJS_WARN_STEP_UP"
  | "FST_AUTHJS_WARN_SIGN_IN_PAGE"
  | "FST_AUTHJS_WARN_PAGE"
  | "FST_AUTHJS_WARN_LOST_COOKIE"
  | "FST_AUTHJS_WARN_SESSION_SIZE"
  | "FST_AUTHJS_WARN_NO_TENANT"
  | "FST_AUTHJS_WARN_TENANT_CONFIG"
  | "FST_AUTHJS_WARN_SESSION_RECORD"
  | "FST_AUTHJS_WARN_CODEC"
  | "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT";

export interface Notice {
  readonly code: NoticeCode;
  readonly message: string;
}

/** Keeps warnings until the application's log is known. */
export class Notices {
  #log: Log | undefined;
  readonly #waiting: Notice[] = [];

  warn(message: string, code: NoticeCode): void {
    this.#waiting.push({ code, message });
    if (this.#log !== undefined) this.sendTo(this.#log);
  }

  sendTo(log: Log): void {
    this.#log ??= log;
    for (const { message, ...details } of this.#waiting.splice(0)) this.#log.warn(details, message);
  }
}
