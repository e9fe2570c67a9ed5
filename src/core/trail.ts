/**
 * What others may observe of a sign-in: events on `node:diagnostics_channel`, built only where one is
 * listened to.
 */
import type { AuthConfig } from "@auth/core";
import type { FastifyRequest } from "fastify";
import { type Channel, channel } from "node:diagnostics_channel";
import type { AccessRefusedEvent, AuthEvent, AuthEvents, RevokeEvent, SignInFailureEvent } from "../types.ts";

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

const ALL_CHANNELS = Object.values(CHANNELS);

/** The most characters of a `User-Agent` header that an event has. */
const AGENT_LENGTH = 512;

/** What a trail begins with. */
export interface TrailStart {
  readonly request: FastifyRequest;
  readonly mountPath: string | undefined;
  readonly provider?: string | undefined;
}

type Events = NonNullable<AuthConfig["events"]>;
type Message<Name extends keyof Events> = Parameters<NonNullable<Events[Name]>>[0];

/** The events of one request. */
export class Trail {
  #signIn: Message<"signIn"> | undefined;
  #signOut: Message<"signOut"> | undefined;
  readonly #links: Message<"linkAccount">[] = [];
  readonly #base: AuthEvent;

  private constructor(base: AuthEvent) {
    this.#base = base;
  }

  /** Begins a trail; `undefined` where no channel has a subscriber. */
  static begin({ request, mountPath, provider }: TrailStart): Trail | undefined {
    let isHeard = false;
    for (const channel of ALL_CHANNELS) isHeard ||= channel.hasSubscribers;
    if (!isHeard) return undefined;
    const agent = request.headers["user-agent"];
    return new Trail({
      time: Date.now(),
      requestId: request.id,
      ...(mountPath !== undefined && { mountPath }),
      ...(request.ip && { address: request.ip }),
      ...(agent !== undefined && { userAgent: agent.slice(0, AGENT_LENGTH) }),
      ...(provider !== undefined && { provider }),
    });
  }

  /** The events for core: those of the application, which are also kept here until the answer is known. */
  watch(own: Events = {}): Events {
    return {
      ...own,
      signIn: (message) => {
        this.#signIn = message;
        return own.signIn?.(message);
      },
      signOut: (message) => {
        this.#signOut = message;
        return own.signOut?.(message);
      },
      linkAccount: (message) => {
        this.#links.push(message);
        return own.linkAccount?.(message);
      },
    };
  }

  /**
   * Publishes what has happened, where the request succeeded.
   *
   * @param hasSession Whether the answer sets a session.
   */
  succeed(hasSession: boolean): void {
    for (const { user, account } of this.#links) {
      publish(
        "fastify-authjs:link",
        () => ({ ...this.#base, ...userOf(user.id), ...accountOf(account) }),
      );
    }
    if (this.#signIn !== undefined && hasSession) {
      const { user, account, isNewUser = false } = this.#signIn;
      publish(
        "fastify-authjs:sign-in",
        () => ({ ...this.#base, ...userOf(user.id), ...accountOf(account), isNewUser }),
      );
    }
    if (this.#signOut !== undefined) {
      const { token, session } = this.#signOut as { token?: { sub?: string }; session?: { userId?: string } };
      const userId = token?.sub ?? session?.userId;
      publish("fastify-authjs:sign-out", () => ({ ...this.#base, ...userOf(userId) }));
    }
  }

  /** Publishes that a session of a user was ended by the provider. */
  endAtProvider(userId: string): void {
    publish("fastify-authjs:sign-out", () => ({ ...this.#base, userId }));
  }

  /** Publishes a failed sign-in. */
  fail(describe: () => Pick<SignInFailureEvent, "reason" | "code" | "status">): void {
    publish("fastify-authjs:sign-in-failure", () => ({ ...this.#base, ...describe() }));
  }

  /** Publishes that an account was unlinked. */
  unlink(userId: string, accountId: string): void {
    publish("fastify-authjs:unlink", () => ({ ...this.#base, userId, accountId }));
  }

  /** Publishes that a guard refused a request. */
  refuseAccess(why: Pick<AccessRefusedEvent, "reason" | "route" | "userId">): void {
    publish("fastify-authjs:access-refused", () => ({ ...this.#base, ...why }));
  }

  /** Publishes that a session was ended other than by a sign-out. */
  revoke(reason: RevokeEvent["reason"], userId: string | undefined): void {
    publish("fastify-authjs:revoke", () => ({ ...this.#base, reason, ...userOf(userId) }));
  }
}

/** Publishes that the application has ended sessions of a user. */
export function publishRevoked(userId: string): void {
  publish("fastify-authjs:revoke", () => ({ time: Date.now(), reason: "revoked", userId }));
}

function publish<Name extends keyof AuthEvents>(name: Name, make: () => AuthEvents[Name]): void {
  const { [name]: channel } = CHANNELS;
  if (channel.hasSubscribers) channel.publish(make());
}

function userOf(id: string | undefined): { userId?: string } {
  return id === undefined ? {} : { userId: id };
}

/** The account of an e-mail provider is an address, which the id of the user stands for. */
function accountOf(
  account: { type: string; providerAccountId: string } | null | undefined,
): { accountId?: string } {
  return !account || account.type === "email" ? {} : { accountId: account.providerAccountId };
}
