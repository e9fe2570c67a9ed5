/**
 * Whether several processes serve the same users without a `refreshLock`, as far as one of them can know. Two
 * of them can then refresh one session with one refresh token, which providers that rotate these tokens take
 * for theft.
 */
import process from "node:process";
import type { SessionRecord } from "../types.ts";
import { type Environment, environment } from "./environment.ts";
import type { Notices } from "./notices.ts";

/**
 * How long after the start of this process another one may use the session store, in milliseconds: with a
 * restart the old process ends while the new one works already.
 */
const OVERLAP_MS = 10 * 60_000;

/** Finds out about other processes, and warns once. */
export class OtherProcesses {
  readonly #notices: Notices;
  #hasWarned = false;

  constructor(notices: Notices) {
    this.#notices = notices;
  }

  /** Names this process in records of sessions; says nothing of the host. */
  get own(): string {
    return `${process.pid}-${performance.timeOrigin}`;
  }

  /** Looks at how this process was started. Only the second of several warns, so that it is said once. */
  async lookAtStart(): Promise<void> {
    const starter = secondOf(environment) ?? await secondInCluster();
    if (starter !== undefined) this.#warn(starter);
  }

  /** Looks at a record that was found in the session store. */
  lookAt(record: SessionRecord | undefined): void {
    if (record?.process === undefined || record.process === this.own) return;
    if (record.lastSeenAt > performance.timeOrigin + OVERLAP_MS) {
      this.#warn("another process uses the session store");
    }
  }

  #warn(how: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#notices.warn(
      `Several processes serve the same users (${how}), and there is no \`refreshLock\`. Two of them can refresh ` +
        "one session at the same time; a provider that takes each refresh token once then ends the user's grant. " +
        'Set `refreshLock: redisLock(client)` of "fastify-authjs/redis", or `refreshLock: false` where the ' +
        "`jwt` callback refreshes nothing.",
      "FST_AUTHJS_WARN_REFRESH_LOCK",
    );
  }
}

/** The second process of an application under PM2, which numbers them from 0. */
function secondOf({ NODE_APP_INSTANCE }: Environment): string | undefined {
  return NODE_APP_INSTANCE === "1" ? "PM2 has started at least two" : undefined;
}

/** The second worker of a cluster, which numbers them from 1. PM2 may start a cluster of one. */
async function secondInCluster(): Promise<string | undefined> {
  if (environment.NODE_APP_INSTANCE !== undefined) return undefined;
  // Workers have a channel to their primary process. Without one the module is not worth loading
  if (process.send === undefined) return undefined;
  // A runtime without the module has no workers
  const { default: cluster } = await import("node:cluster").catch(() => ({ default: undefined }));
  return cluster?.worker?.id === 2 ? "this is worker 2 of node:cluster" : undefined;
}
