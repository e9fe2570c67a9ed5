/**
 * Keeping the configurations of one process apart in core.
 *
 * Core remembers for the whole process that some configuration had an e-mail or a WebAuthn provider (the module variables of
 * `lib/utils/assert.js` in 0.41.3). From then on it demands an adapter and the experimental flag of every configuration,
 * also of those without such a provider. What each configuration really needs is checked at boot.
 *
 * @module
 */
import { type AuthConfig, raw } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";

/**
 * The configuration for one call of core, which asserts with an adapter that has every method and then works with the real
 * one. Core reads `raw` between the two, once: that is when the adapter changes.
 *
 * @param config What core is to work with; core writes to the copy.
 */
export function isolateFromCoreGlobals(config: AuthConfig): AuthConfig {
  const { adapter, session, ...rest } = config;
  let asserting = true;
  return {
    ...rest,
    ...(session && { session: withoutImpliedStrategy(session, adapter) }),
    experimental: { ...config.experimental, enableWebAuthn: true },
    get adapter() {
      return asserting ? STAND_IN_ADAPTER : adapter;
    },
    get raw() {
      asserting = false;
      return raw;
    },
  } as unknown as AuthConfig;
}

/** "database" is what core infers from an adapter; set, it is refused once any configuration has credentials. */
function withoutImpliedStrategy(
  session: NonNullable<AuthConfig["session"]>,
  adapter: Adapter | undefined,
): NonNullable<AuthConfig["session"]> {
  if (!adapter || session.strategy !== "database") return session;
  const { strategy: _strategy, ...rest } = session;
  return rest;
}

/** Has every method there is, as far as `in` can tell, and does nothing. */
const STAND_IN_ADAPTER = new Proxy({}, { has: () => true }) as Adapter;
