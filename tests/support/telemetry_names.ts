/**
 * Every name that the plugin's telemetry has: tests hold both the flows and `docs/observability.md` to this.
 *
 * @module
 */

/** The names of spans, with the attributes that one may have. */
export const SPANS: Readonly<Record<string, readonly string[]>> = {
  "authjs.<action>": ["authjs.action", "authjs.provider.id", "authjs.provider.type", "error.type"],
  "<method> <endpoint>": [
    "authjs.provider.endpoint",
    "authjs.provider.id",
    "error.type",
    "http.request.method",
    "http.response.status_code",
    "server.address",
    "server.port",
    "url.full",
  ],
  "authjs.adapter.<method>": ["authjs.adapter.method", "error.type"],
};

/** The metrics, each with its unit and attributes. */
export const METRICS: Readonly<Record<string, { unit: string; attributes: readonly string[] }>> = {
  "authjs.action.duration": { unit: "s", attributes: ["authjs.action", "authjs.provider.id", "error.type"] },
  "authjs.provider.request.duration": {
    unit: "s",
    attributes: [
      "authjs.provider.endpoint",
      "authjs.provider.id",
      "error.type",
      "http.response.status_code",
    ],
  },
  "authjs.adapter.call.duration": { unit: "s", attributes: ["authjs.adapter.method", "error.type"] },
  "authjs.session.read.duration": {
    unit: "s",
    attributes: ["authjs.session.result", "authjs.session.strategy"],
  },
  "authjs.events": {
    unit: "{event}",
    attributes: ["authjs.event", "authjs.provider.id", "authjs.revoke.reason", "error.type"],
  },
};

/** The values of `authjs.action`. */
export const ACTIONS: readonly string[] = [
  "callback",
  "csrf",
  "error",
  "providers",
  "session",
  "signin",
  "signin-page",
  "signout",
  "signout-page",
  "token",
  "update",
  "verify-request",
  "webauthn-options",
];

/** The values of `authjs.provider.endpoint`. */
export const ENDPOINTS: readonly string[] = ["discovery", "jwks", "token", "userinfo"];

/** The values of `authjs.event`: the channels of the audit trail, without their prefix. */
export const EVENTS: readonly string[] = [
  "access-refused",
  "link",
  "revoke",
  "sign-in",
  "sign-in-failure",
  "sign-out",
  "unlink",
];
