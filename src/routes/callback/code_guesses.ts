/**
 * Guesses at the codes of mails: five at one mail, and twenty a day at those to one recipient. They are counted in the
 * `store`, whose failure refuses codes, or by this process alone.
 */
import { createHmac, randomUUID } from "node:crypto";
import type { RequestContext } from "../../core/context.ts";
import { CODE_SECONDS } from "../../provider/mailed_code.ts";
import { foldName } from "../../utils/fold_name.ts";

const MOST_OF_MAIL = 5;
const MOST_OF_RECIPIENT = 20;
const DAY_MS = 24 * 3600 * 1000;

/** A guess that is counted. */
export interface Guess {
  /** Whether another one is allowed if this one is wrong. */
  readonly isLast: boolean;
  /** It was right, and does not count. */
  giveBack(): Promise<void>;
}

/**
 * Counts a guess before it is compared, so that no more than allowed are compared, however many run at once.
 *
 * @param link The parameters of the link in the mail.
 * @returns `undefined` if they are used up.
 * @throws {SessionStoreFailure} If the store fails.
 */
export async function countGuess(
  link: URLSearchParams,
  { auth: { guesses: store }, config: { hashSecrets } }: RequestContext,
): Promise<Guess | undefined> {
  // So no address or token is in the store.
  const keyOf = (what: string, value: string) =>
    createHmac("sha256", hashSecrets.current).update(JSON.stringify([what, value])).digest("base64url");
  const limits = [
    { key: keyOf("guesses of a mail", link.get("token")!), most: MOST_OF_MAIL, time: CODE_SECONDS * 1000 },
    {
      key: keyOf("guesses of a recipient", foldName(link.get("email")!)),
      most: MOST_OF_RECIPIENT,
      time: DAY_MS,
    },
  ];
  const lowestLeft = async () => {
    const left = limits.map(async ({ key, most }) => most - (await store.call("members", key)).length);
    return Math.min(...await Promise.all(left));
  };
  const guess = randomUUID();
  const giveBack = async () => {
    await Promise.all(limits.map(({ key }) => store.call("remove", key, guess)));
  };
  if (await lowestLeft() <= 0) return undefined;
  await Promise.all(limits.map(({ key, time }) => store.call("add", key, guess, time)));
  // Of those that are added at once, the last one that looks sees all of them.
  const left = await lowestLeft();
  if (left >= 0) return { isLast: left === 0, giveBack };
  await giveBack();
  return undefined;
}
