/** The sessions of users in a database. */
import { toDate } from "../../adapter/dates.ts";
import { liveRows } from "../../adapter/added_methods.ts";
import type { KnownSession, KnownSessions, SessionKey } from "../../session/hooks.ts";
import { lifetimesFor, type SessionSettings } from "../../session/settings.ts";
import { endRows } from "../../session/ending.ts";
import { rowName } from "../../session/name.ts";

export class SessionRows implements KnownSessions {
  readonly #settings: SessionSettings;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  async list(user: string): Promise<KnownSession[]> {
    return (await liveRows(user, this.#settings.adapter)).map((row) => ({
      user,
      id: rowName(row.sessionToken),
      expires: row.expires,
      createdAt: toDate(row.createdAt),
      // A row says when it was written last, by when it expires.
      lastSeenAt: toDate(row.lastSeenAt) ??
        new Date(row.expires.valueOf() - lifetimesFor(row.sessionToken, this.#settings).maxAge * 1000),
      userAgent: row.userAgent ?? undefined,
    }));
  }

  async end({ user, id }: SessionKey): Promise<boolean> {
    const row = (await liveRows(user, this.#settings.adapter)).find((each) => rowName(each.sessionToken) === id);
    if (row !== undefined) await endRows([row], this.#settings);
    return row !== undefined;
  }

  async endAll(user: string, except: string | undefined): Promise<void> {
    // Twice: a bearer token may have been made of a session that was listed.
    for (let round = 0; round < 2; round++) {
      const rows = await liveRows(user, this.#settings.adapter);
      await endRows(rows.filter(({ sessionToken }) => rowName(sessionToken) !== except), this.#settings);
    }
  }
}
