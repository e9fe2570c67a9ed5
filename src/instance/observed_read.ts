/** A read of a session, as it is observed. */
import type { AuthInstance } from "./auth_instance.ts";
import type { SessionRead } from "../session/read.ts";
import { sessionReads } from "../telemetry/operations.ts";
import type { SessionReadEvent } from "../types.ts";

/** Reads, and publishes what was found and how long it took. */
export function observeRead(
  { config }: AuthInstance,
  read: () => SessionRead | Promise<SessionRead>,
): SessionRead | Promise<SessionRead> {
  const { adapter, session } = config.core;
  const start = performance.now();
  const publish = ({ session: found, failure }: Pick<SessionRead, "session" | "failure">) => {
    const event: SessionReadEvent = {
      strategy: session?.strategy ?? (adapter === undefined ? "jwt" : "database"),
      result: failure !== undefined ? "unknown" : found === null ? "none" : "session",
      duration: (performance.now() - start) / 1000,
    };
    sessionReads.publish(event);
  };
  const found = read();
  if (!(found instanceof Promise)) {
    publish(found);
    return found;
  }
  return found.then((read) => {
    publish(read);
    return read;
  }, (failure) => {
    publish({ session: null, failure });
    throw failure;
  });
}
