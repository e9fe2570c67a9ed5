/** The events of the audit trail, on `node:diagnostics_channel`. */
import type { FastifyRequest } from "fastify";
import { type Channel, channel } from "node:diagnostics_channel";
import type { AuthEvent, AuthEvents } from "../types.ts";

/** Node keeps a channel only as long as something refers to it. */
const CHANNELS: Readonly<Record<keyof AuthEvents, Channel>> = {
  "fastify-authjs:sign-in": channel("fastify-authjs:sign-in"),
  "fastify-authjs:sign-in-failure": channel("fastify-authjs:sign-in-failure"),
  "fastify-authjs:sign-out": channel("fastify-authjs:sign-out"),
  "fastify-authjs:link": channel("fastify-authjs:link"),
  "fastify-authjs:unlink": channel("fastify-authjs:unlink"),
  "fastify-authjs:revoke": channel("fastify-authjs:revoke"),
  "fastify-authjs:access-refused": channel("fastify-authjs:access-refused"),
};

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
  for (const channel of Object.values(CHANNELS)) isHeard ||= channel.hasSubscribers;
  if (!isHeard) return undefined;
  const base = {
    time: Date.now(),
    requestId: request?.id,
    address: request?.ip || undefined,
    userAgent: request?.headers["user-agent"]?.slice(0, AGENT_LENGTH),
    ...known,
  };
  return (name, details) => {
    const { [name]: channel } = CHANNELS;
    if (!channel.hasSubscribers) return;
    const members = Object.entries({ ...base, ...details }).filter(([, value]) => value !== undefined);
    channel.publish(Object.fromEntries(members));
  };
}
