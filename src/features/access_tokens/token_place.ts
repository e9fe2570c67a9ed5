/** Where the tokens of providers are kept, and what this process remembers of them. */
import type { ActionAuth } from "../../actions/perform.ts";
import type { ProviderTokens } from "./provider_tokens.ts";

/** The tokens of a provider that the signed-in user of a request has. */
export interface TokenPlace {
  /** What is there now; `undefined` if there is nothing. Without a refresh token it cannot be refreshed. */
  read(): Promise<ProviderTokens | undefined>;
  /** Refreshes what was read last, unless that was done meanwhile. */
  refresh(): Promise<void>;
}

interface Memory {
  /** The refreshes under way. */
  readonly underWay: Map<string, Promise<void>>;
  /** Refreshed tokens that could not be written: those in the row of the account are spent. */
  readonly unwritten: Map<string, ProviderTokens>;
}

/** What this process remembers, also for the next configuration of a tenant. */
export function memoryOf({ instance: { memory } }: ActionAuth): Memory {
  const known = memory.get("access_tokens") as Memory | undefined;
  const own = known ?? { underWay: new Map(), unwritten: new Map() };
  if (known === undefined) memory.set("access_tokens", own);
  return own;
}

/** Does work once for all who ask for it at the same time. */
export async function onceAtATime(auth: ActionAuth, key: string, work: () => Promise<void>): Promise<void> {
  const { underWay } = memoryOf(auth);
  const working = underWay.get(key) ?? work().finally(() => underWay.delete(key));
  underWay.set(key, working);
  await working;
}
