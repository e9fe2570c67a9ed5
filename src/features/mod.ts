/** The features, in the order in which their hooks are called. Only this list names them. */
import type { ListedFeature } from "../instance/feature.ts";
import { GUARD } from "./step_up/guard_options.ts";

export const FEATURES: readonly ListedFeature[] = [
  {
    name: "bearer",
    options: ["bearer"],
    load: async () => (await import("./bearer/mod.ts")).bearer,
  },
  {
    name: "step_up",
    options: ["stepUp"],
    guard: GUARD,
    load: async () => (await import("./step_up/mod.ts")).stepUp,
  },
  {
    name: "provider_logout",
    options: ["providerSignOut", "backchannelLogout"],
    load: async () => (await import("./provider_logout/mod.ts")).providerLogout,
    lacking: ({ providerSignOut }) =>
      providerSignOut === true &&
      "`providerSignOut: true` needs `providerSignOut` in the configuration, which keeps with which provider the " +
        "user signed in. With `{ byDefault: false }` other sign-outs stay local.",
  },
];
