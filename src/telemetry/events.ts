/** The events of the audit trail, on `node:diagnostics_channel`. */
import type { FastifyRequest } from "fastify";
import { channel } from "node:diagnostics_channel";
import type { AuthEvent, AuthEvents } from "../types.ts";

/** The names of the channels, after `fastify-authjs:`. */
export const EVENTS = ["sign-in", "sign-in-failure", "sign-out", "link", "unlink", "revoke", "access-refused"] as const;

/** Node keeps a channel only as long as something refers to it. */
const CHANNELS = new Map(EVENTS.map((name) => [`fastify-authjs:${name}`, channel(`fastify-authjs:${name}`)] as const));

const AGENT_LENGTH = 512;

/** What an event says besides its request. */
export type EventDetails<Name extends keyof AuthEvents, Event = AuthEvents[Name]> = {
  readonly [Key in keyof Event as Exclude<Key, keyof AuthEvent>]:
    | Event[Key]
    | (Pick<AuthEvent, never> extends Pick<Event, Key> ? undefined : never);
};

/** Publishes an event, if something listens. */
export type Publish = <Name extends keyof AuthEvents>(name: Name, details: EventDetails<Name>) => void;

/**
 * Publishes what happens with a request that comes now; without one, what the application does.
 * @returns `undefined` if nothing listens.
 */
export function eventsOf(
  request?: Pick<FastifyRequest, "headers" | "id" | "ip">,
  known: { readonly mountPath?: string | undefined; readonly provider?: string | undefined } = {},
): Publish | undefined {
  let isHeard = false;
  for (const channel of CHANNELS.values()) isHeard ||= channel.hasSubscribers;
  if (!isHeard) return undefined;
  const base = {
    time: Date.now(),
    requestId: request?.id,
    address: request?.ip || undefined,
    userAgent: request?.headers["user-agent"]?.slice(0, AGENT_LENGTH),
    ...known,
  };
  return (name, details) => {
    const channel = CHANNELS.get(name)!;
    if (!channel.hasSubscribers) return;
    const members = Object.entries({ ...base, ...details }).filter(([, value]) => value !== undefined);
    channel.publish(Object.fromEntries(members));
  };
}
