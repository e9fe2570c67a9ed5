/** The logger. */

export interface Log {
  /** A failure of the application, its adapter or a provider. */
  error(details: object, message: string): void;
  /** Something that the operator should check. */
  warn(details: object, message: string): void;
  /** A mistake of a client. */
  info(details: object, message: string): void;
  /** Details for debugging. */
  debug(details: object, message: string): void;
}
