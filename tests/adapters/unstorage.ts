/** `@auth/unstorage-adapter`. */
import type { Adapter } from "@auth/core/adapters";
import { UnstorageAdapter } from "@auth/unstorage-adapter";
// Before unstorage's driver, which looks for it.
import "ioredis";
import { createStorage, type Storage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import type { AdapterCase, OpenCase } from "./adapter_case.ts";

const adapter = "@auth/unstorage-adapter";

/** In memory and on Redis. */
export const unstorage: readonly AdapterCase[] = [
  { id: "unstorage-memory", adapter, database: "memory", open: () => over(createStorage()) },
  {
    id: "unstorage-redis",
    adapter,
    database: "Redis",
    server: "TEST_REDIS_URL",
    open: (url) => over(createStorage({ driver: redisDriver({ url, base: `test:${crypto.randomUUID()}` }) })),
  },
];

function over(storage: Storage): Promise<OpenCase> {
  return Promise.resolve({
    adapter: UnstorageAdapter(storage) as Adapter,
    async [Symbol.asyncDispose]() {
      await storage.clear();
      await storage.dispose();
    },
  });
}
