/** Whether several processes serve the same users without a `store` that they share, as far as one of them can know. */
import process from "node:process";
import { environment } from "./environment.ts";
import type { Notices } from "./notices.ts";

/** Looks once at how this process was started. Only the second of several warns, so that it is said once. */
export function otherProcesses(notices: Notices): () => Promise<void> {
  let hasLooked = false;
  return async () => {
    if (hasLooked) return;
    hasLooked = true;
    const starter = await secondProcess();
    if (starter === undefined) return;
    notices.warn(
      `Several processes serve the same users (${starter}), and no \`store\` that they share. Two of them can ` +
        "refresh one session at the same time; a provider that takes each refresh token once then ends the user's " +
        "grant. Each counts wrong codes of mails by itself, too. Set `store: redisStore(client)` of " +
        '"fastify-authjs/redis", or `store: false` if that does not matter: the `jwt` callback refreshes nothing.',
      "FST_AUTHJS_WARN_NO_STORE",
    );
  };
}

/** What says that this is the second process: PM2 numbers them from 0, a cluster its workers from 1. */
async function secondProcess(): Promise<string | undefined> {
  const { NODE_APP_INSTANCE: ofPm2 } = environment;
  // PM2 may start a cluster of one.
  if (ofPm2 !== undefined) return ofPm2 === "1" ? "PM2 has started at least two" : undefined;
  // Workers have a channel to their primary process. Without one the module is not worth loading.
  if (process.send === undefined) return undefined;
  // A runtime without the module has no workers.
  const { default: cluster } = await import("node:cluster").catch(() => ({ default: undefined }));
  return cluster?.worker?.id === 2 ? "this is worker 2 of node:cluster" : undefined;
}
