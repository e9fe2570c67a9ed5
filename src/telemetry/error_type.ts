/** What went wrong, as one word of few: for metrics, spans and events. */

/**
 * If an error has no name that could be one of few (`error.type` of OpenTelemetry's semantic conventions).
 */
const OTHER = "_OTHER";

/**
 * The code of a `FastifyAuthError`, the type of an error of Auth.js (`"CredentialsSignin"`), or the name of
 * any other error. Messages are not used: they may have what a user typed.
 */
export function errorTypeOf(error: unknown): string {
  const { code, type, name } = (error ?? {}) as Record<string, unknown>;
  const own = typeof code === "string" && code.startsWith("FST_AUTHJS_") ? code : type ?? name;
  return typeof own === "string" && /^\w{1,64}$/.test(own) ? own : OTHER;
}
