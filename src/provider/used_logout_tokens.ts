/** Remembers which logout tokens were used, so that each is used once. */
import { createHash } from "node:crypto";

/** The most ids in the memory of a process: with more, the oldest are forgotten. */
const MOST = 10_000;

/** A memory that several processes share. */
export interface SharedUses {
  isUsed(token: string): Promise<boolean>;
  setUsed(token: string, milliseconds: number): Promise<void>;
}

/** A token that is being used. */
export interface LogoutTokenUse {
  /** It has done its work. */
  done(): Promise<void>;
  /** It may come again. */
  failed(): void;
}

/** The used tokens of one configuration. */
export class UsedLogoutTokens {
  /** When each can be forgotten, in milliseconds since 1970, in the order in which they were used. */
  readonly #used = new Map<string, number>();

  /**
   * Takes a token for use.
   *
   * @param milliseconds For how long it is valid at most.
   * @returns `undefined` if it was used before.
   */
  async begin(
    { iss, jti }: { readonly iss: string; readonly jti: string },
    milliseconds: number,
    shared: SharedUses | undefined,
  ): Promise<LogoutTokenUse | undefined> {
    const name = createHash("sha256").update(JSON.stringify([iss, jti])).digest("base64url");
    if ((this.#used.get(name) ?? 0) > Date.now()) return undefined;
    this.#add(name, Date.now() + milliseconds);
    const failed = () => void this.#used.delete(name);
    try {
      if (await shared?.isUsed(name)) return undefined;
    } catch (error) {
      failed();
      throw error;
    }
    return { failed, done: async () => await shared?.setUsed(name, milliseconds) };
  }

  #add(name: string, until: number): void {
    for (const [old, end] of this.#used) {
      if (end > Date.now() && this.#used.size < MOST) break;
      this.#used.delete(old);
    }
    this.#used.set(name, until);
  }
}
