/**
 * Which sessions in a JWT were made from which session at an OpenID Provider: an index in the store, by which the
 * provider's logouts find them.
 */
import { AccessDenied } from "@auth/core/errors";
import type { NamedSession } from "../../session/hooks.ts";
import { namedBy, sessionIdOf, type SessionKey } from "../../session/known_session.ts";
import type { SharedStore } from "../../session/shared_store.ts";
import {
  type EndedAtProvider,
  isText,
  keysOfSession,
  keysToEnd,
  providerSessionOf,
} from "./provider_session.ts";

/** For how long a sign-in may be under way that the provider has ended the session of, in milliseconds. */
const SIGN_IN_MS = 15 * 60_000;

export class ProviderIndex {
  readonly #store: SharedStore;
  readonly #keepFor: number;

  /** @param keepFor Milliseconds for which a token of a session may be valid. */
  constructor(store: SharedStore, keepFor: number) {
    this.#store = store;
    this.#keepFor = keepFor;
  }

  /**
   * Adds a session whose token was sealed.
   *
   * @throws {AccessDenied} For a new session that the provider has ended meanwhile.
   */
  async add({ claims, name }: NamedSession, isNew: boolean): Promise<void> {
    const session = providerSessionOf(claims);
    const user = session?.user ?? claims.sub;
    if (!isText(user)) return;
    for (const key of keysOfSession(session)) {
      // By the provider's clock, the time of the ID token says which sessions began before it ended them.
      const member = `${session!.iat ?? 0}:${sessionIdOf({ user, id: name })}`;
      await this.#store.call("add", this.#store.key("provider", key), member, this.#keepFor);
      if (!isNew) continue;
      // The session is in the index now: of an end and a sign-in at the same time, one sees the other.
      const [end] = await this.#store.call("get", [this.#store.key("provider-end", key)]);
      // A sign-in in the second of the end may be a new one.
      if (end && (session!.iat ?? Infinity) < Number(end)) {
        throw new AccessDenied(`"${session!.provider}" has just ended the session that this sign-in is of.`);
      }
    }
  }

  /** The sessions that a provider ends. Later sign-ins that are under way are refused. */
  async end(ended: EndedAtProvider): Promise<SessionKey[]> {
    const found = new Map<string, SessionKey>();
    for (const key of keysToEnd(ended)) {
      await this.#store.call("set", this.#store.key("provider-end", key), `${ended.iat}`, SIGN_IN_MS);
      for (const member of await this.#store.call("members", this.#store.key("provider", key))) {
        const [, iat, id = ""] = /^(\d+):([^]*)$/.exec(member) ?? [];
        const named = namedBy(id);
        // The token may come late: sessions that began since are of a later sign-in.
        if (named !== undefined && Number(iat) <= ended.iat) found.set(id, named);
      }
    }
    return [...found.values()];
  }
}
