/** Sessions in a database that an OpenID Provider ends (`backchannelLogout`). */
import type { ListedSession } from "../adapter/session_list.ts";
import { type EndedAtProvider, hasKey, keysToEnd } from "./provider_session.ts";
import { endRows, liveRowsOf } from "./session_rows.ts";
import type { SessionSettings } from "./settings.ts";

/**
 * Ends the sessions of the user that has this account at the provider. With a `sid` these are the ones that
 * were made from that session at the provider.
 *
 * @param provider The id of the provider.
 * @returns The rows.
 */
export async function endRowsOfProvider(
  ended: EndedAtProvider & { readonly sub: string },
  provider: string,
  settings: SessionSettings,
): Promise<readonly ListedSession[]> {
  const { sub, sid } = ended;
  const user = await settings.adapter!.getUserByAccount!({ provider, providerAccountId: sub });
  if (user === null) return [];
  const rows = await liveRowsOf(String(user.id), settings);
  const keys = keysToEnd(ended);
  const named = sid === undefined ? rows : rows.filter(({ sessionToken }) => hasKey(sessionToken, keys));
  await endRows(named, settings);
  return named;
}
