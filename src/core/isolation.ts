/**
 * Keeps the configurations of one process apart in core.
 *
 * Core remembers in variables of a module (`lib/utils/assert.js` in 0.41.3) that a configuration had an
 * e-mail or a WebAuthn provider. From then on it requires an adapter and the experimental flag of every
 * configuration of the process. What each configuration really needs is checked at boot.
 */
import { type AuthConfig, raw } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { Provider } from "@auth/core/providers";

/**
 * The configuration for one call of core. Core's assertions see an adapter that has every method; then core
 * reads `raw`, once, and from then on sees the real adapter.
 *
 * @param config The configuration; it is copied, because core writes to it.
 */
export function isolateFromCoreGlobals(config: AuthConfig): AuthConfig {
  return new IsolatedConfig(config) as unknown as AuthConfig;
}

/**
 * `raw` is no property of its own: core copies all of those, and a copy with an accessor among them takes six
 * times as long.
 */
class IsolatedConfig {
  adapter: Adapter | undefined;
  readonly #adapter: Adapter | undefined;

  constructor(config: AuthConfig) {
    Object.assign(this, config, {
      providers: config.providers.map((provider) => withFieldsForConditionalUi(provider as Provider)),
      experimental: { ...config.experimental, enableWebAuthn: true },
      adapter: STAND_IN_ADAPTER,
      ...(config.session && { session: withoutImpliedStrategy(config.session, config.adapter) }),
    });
    this.#adapter = config.adapter;
  }

  get raw(): typeof raw {
    this.adapter = this.#adapter;
    return raw;
  }

  /** In a configuration it says nothing. */
  set raw(_raw: unknown) {}
}

/**
 * Core infers "database" from an adapter, and refuses it as a setting once any configuration has credentials.
 */
function withoutImpliedStrategy(
  session: NonNullable<AuthConfig["session"]>,
  adapter: Adapter | undefined,
): NonNullable<AuthConfig["session"]> {
  if (!adapter || session.strategy !== "database") return session;
  const { strategy: _strategy, ...rest } = session;
  return rest;
}

/**
 * Core refuses conditional UI without a field for it. Our sign-in page has it in the fields of other
 * providers, where a passkey button has none of its own.
 */
function withFieldsForConditionalUi(provider: Provider): Provider {
  const { type, formFields = {} } = provider as { type?: string; formFields?: object };
  const buttonAlone = type === "webauthn" && Object.keys(formFields).length === 0;
  return buttonAlone ? { ...provider, enableConditionalUI: false } as Provider : provider;
}

/** Has every method as far as `in` can tell, which is all that core's assertions use. */
const STAND_IN_ADAPTER = new Proxy({}, { has: () => true }) as Adapter;
