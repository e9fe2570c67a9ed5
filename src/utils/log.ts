/**
 * Where messages go.
 *
 * @module
 */

/** The part of Fastify's logger that is used here. */
export interface Log {
  /** A fault of the application, its database or a provider. */
  error(details: object, message: string): void;
  /** Something to look at. */
  warn(details: object, message: string): void;
  /** A client's mistake. */
  info(details: object, message: string): void;
  /** What happens, for the curious. */
  debug(details: object, message: string): void;
}
