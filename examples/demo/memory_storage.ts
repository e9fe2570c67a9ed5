// @ts-types="@types/oidc-provider"
import type { Adapter, AdapterFactory, AdapterPayload } from "oidc-provider";

interface Stored {
  readonly payload: AdapterPayload;
  readonly expires: number;
}

/** Keeps what the OpenID Provider remembers (its sessions, codes and grants) for as long as the demo runs. */
export function memoryStorage(): AdapterFactory {
  const stored = new Map<string, Stored>();
  return (model) => adapterFor(model, stored);
}

function adapterFor(model: string, stored: Map<string, Stored>): Adapter {
  const keyOf = (id: string) => `${model}:${id}`;

  const find = (id: string): Promise<AdapterPayload | undefined> => {
    const found = stored.get(keyOf(id));
    return Promise.resolve(found && found.expires > Date.now() ? found.payload : undefined);
  };

  const findBy = (field: "uid" | "userCode", value: string): Promise<AdapterPayload | undefined> => {
    const found = [...stored].find(([key, { payload }]) => key.startsWith(keyOf("")) && payload[field] === value);
    return Promise.resolve(found?.[1].payload);
  };

  return {
    find,
    findByUid: (uid) => findBy("uid", uid),
    findByUserCode: (userCode) => findBy("userCode", userCode),
    upsert(id, payload, expiresIn) {
      const expires = expiresIn ? Date.now() + expiresIn * 1000 : Infinity;
      stored.set(keyOf(id), { payload, expires });
      return Promise.resolve();
    },
    async consume(id) {
      const payload = await find(id);
      if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    },
    destroy(id) {
      stored.delete(keyOf(id));
      return Promise.resolve();
    },
    revokeByGrantId(grantId) {
      for (const [key, { payload }] of stored) if (payload.grantId === grantId) stored.delete(key);
      return Promise.resolve();
    },
  };
}
