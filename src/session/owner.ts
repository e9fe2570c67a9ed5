/** Whose session it is. No callback is called, which could fail. */
import { openToken } from "./open.ts";
import type { SessionSettings } from "./settings.ts";

/**
 * The id of the user of a session token: the `sub` of its claims, or the user of its row.
 *
 * @returns `undefined` if the token is of no session.
 * @throws What the adapter throws.
 */
export async function ownerOf(token: string, settings: SessionSettings): Promise<string | undefined> {
  if (token === "") return undefined;
  if (settings.strategy === "jwt") {
    return await openToken(token, settings).then(({ claims }) => claims.sub, () => undefined);
  }
  const found = await settings.adapter!.getSessionAndUser!(token);
  return found && found.session.expires.valueOf() >= Date.now() ? String(found.user.id) : undefined;
}
