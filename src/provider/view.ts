/** A provider as the sign-in page shows it. */
import type { Provider } from "@auth/core/providers";
import type { FieldView, ProviderView } from "../pages/types.ts";
import { factoryIdOf } from "./settings.ts";

type Field = Readonly<Record<string, unknown>>;

interface ProviderShape {
  id?: string;
  name?: string;
  type?: string;
  style?: { logo?: unknown };
  credentials?: Readonly<Record<string, Field>>;
  formFields?: Readonly<Record<string, Field>>;
  enableConditionalUI?: boolean;
  getUserInfo?: (...args: unknown[]) => unknown;
}

/**
 * The view of a provider, or `undefined` if the page has no form for it: as in core, one without
 * `credentials` or `formFields`, or of another type.
 */
export function toProviderView(provider: Provider): ProviderView | undefined {
  const { id = "", type = "", name = id, style, enableConditionalUI, getUserInfo } =
    provider as ProviderShape;
  const fields = fieldsOf(provider as ProviderShape);
  if (fields === undefined) return undefined;
  return {
    id,
    brand: factoryIdOf(provider),
    name: SHOWN_NAMES.get(name) ?? name,
    type,
    fields: Object.entries(fields).map(([name, field]) => toField(name, field)),
    conditional: type === "webauthn" && enableConditionalUI === true,
    // Without a parameter, as in `getUserInfo: async () => null`, it knows no new user.
    registers: type === "webauthn" && Object.keys(fields).length > 0 && getUserInfo?.length !== 0,
    logo: logoOf(style?.logo),
  };
}

/** What users know services by that core calls otherwise. */
const SHOWN_NAMES: ReadonlyMap<string, string> = new Map([
  ["Azure Active Directory", "Microsoft"],
  ["Microsoft Entra ID", "Microsoft"],
  ["BankID Norge", "BankID"],
  ["BoxyHQ SAML", "SAML SSO"],
  ["Cognito", "Amazon Cognito"],
  ["DuendeIdentityServer6", "Duende IdentityServer"],
  ["Freshbooks", "FreshBooks"],
  ["Hydra", "Ory Hydra"],
  ["IdentityServer4", "IdentityServer"],
  ["Twitter", "X"],
]);

const EMAIL: Readonly<Record<string, Field>> = { email: { type: "email", required: true } };

function fieldsOf({ type, credentials, formFields }: ProviderShape) {
  switch (type) {
    case "oauth":
    case "oidc":
      return {};
    case "email":
      return EMAIL;
    case "credentials":
      return credentials;
    case "webauthn":
      return formFields;
  }
}

/** The factories of core name files such as "/netsuite.svg" that only its own site has. */
function logoOf(logo: unknown): string | undefined {
  return typeof logo === "string" && logo !== "" && !CORE_LOGOS.has(logo) ? logo : undefined;
}

const CORE_LOGOS: ReadonlySet<string> = new Set(["/netsuite.svg", "/nextcloud.svg", "/wechat.svg"]);

/** Attributes that a field cannot choose: they belong to the page, or a script would be in them. */
const RESERVED =
  /^(?:class(?:name)?|form.*|id|label|name|on.*|style|dangerouslysetinnerhtml|children|key|ref)$/i;

/** Attributes as in HTML or, as core's types allow them, as in JSX. */
function toField(name: string, field: Field): FieldView {
  const attributes: Record<string, string | true> = {};
  for (const [key, value] of Object.entries(field)) {
    if (RESERVED.test(key) || value === undefined || value === null || value === false) continue;
    const attribute = key === "defaultValue" ? "value" : key.toLowerCase();
    if (value === true) attributes[attribute] = true;
    else if (typeof value === "string" || typeof value === "number") attributes[attribute] = String(value);
  }
  return { name, label: typeof field.label === "string" ? field.label : undefined, attributes };
}
