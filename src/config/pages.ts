/** The pages of the configuration: those of the application, and the look of the built-in ones. */
import type { Provider } from "@auth/core/providers";
import type { AssetOptions } from "../pages/assets.ts";
import { readableOn } from "../pages/colour.ts";
import { pagePolicy, sourceOf } from "../pages/policy.ts";
import type { Languages } from "../pages/language.ts";
import type { FieldView, Look, Page, PageView, ProviderView } from "../pages/types.ts";
import { factoryIdOf } from "../provider/settings.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { later } from "../utils/later.ts";

export function pageSettings(
  { adapter, pages = {}, session = {}, theme = {} }: FastifyAuthConfig,
  providers: readonly Provider[],
  summaries: readonly ProviderSummary[],
  languages: Languages,
) {
  const { siteName, links = {}, panel, themeColor, darkLogo, favicon, style } = pages;
  const views = providers.map(toProviderView).filter((view) => view !== undefined);
  const { logo = darkLogo, colorScheme = "auto" } = theme;
  const rememberMe = session.ephemeralMaxAge !== false;
  const look: Look = { logo, darkLogo, favicon, themeColor, panel, links, style, colorScheme, rememberMe };
  return {
    look,
    theme: themeRules(theme),
    providers: views,
    languages,
    /** Without one it is the host. */
    siteName,
    confirmEmail: pages.confirmEmail,
    passkeyOffer: pages.passkeyOffer !== false && pages.signIn === undefined && adapter !== undefined &&
      views.some(({ type }) => type === "webauthn"),
    render: later(async () => {
      const { PageTemplates } = await import("../pages/page_templates.ts");
      const templates = new PageTemplates();
      return (page: Page, view: PageView) => templates.render(page, view);
    }),
    policy: pagePolicy({
      forms: sources(summaries.flatMap(({ server }) => [server.issuer, server.authorization])),
      images: sources([logo, darkLogo, favicon, panel?.image, ...views.map(({ logo }) => logo)]),
      styles: sources([look.style]),
    }),
  };
}

export function assetOptions({ theme, providers }: ReturnType<typeof pageSettings>): AssetOptions {
  const drawn = providers.filter(({ type, logo }) => /^(?:oauth|oidc)$/.test(type) && logo === undefined);
  return { theme, logos: drawn.map(({ brand }) => brand), passkeys: providers.some(({ type }) => type === "webauthn") };
}

function sources(urls: readonly (string | undefined)[]): string[] {
  return [...new Set(urls.map(sourceOf).filter((source) => source !== undefined))];
}

/** The colours of the theme as custom properties. */
function themeRules({ brandColor, buttonText }: NonNullable<FastifyAuthConfig["theme"]>): string {
  const text = buttonText || readableOn(brandColor);
  const rules = [
    ...(brandColor ? [`--auth-brand: ${brandColor};`] : []),
    ...(text ? [`--auth-brand-text: ${text};`] : []),
  ];
  return rules.length === 0 ? "" : `:root { ${rules.join(" ")} }\n`;
}

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

/** A provider as the sign-in page shows it; `undefined` if it has no form for it, as in core. */
function toProviderView(provider: Provider): ProviderView | undefined {
  const shape = provider as ProviderShape;
  const { id = "", type = "", name = id, enableConditionalUI, getUserInfo } = shape;
  const logo = shape.style?.logo;
  const fields = fieldsOf(shape);
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
    logo: typeof logo === "string" && logo !== "" && !CORE_LOGOS.includes(logo) ? logo : undefined,
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

function fieldsOf({ type, credentials, formFields }: ProviderShape) {
  if (type === "oauth" || type === "oidc") return {};
  if (type === "email") return { email: { type: "email", required: true } };
  return type === "credentials" ? credentials : type === "webauthn" ? formFields : undefined;
}

/** Files that the factories of core name, and that only its own site has. */
const CORE_LOGOS: readonly string[] = ["/netsuite.svg", "/nextcloud.svg", "/wechat.svg"];

/** Attributes that a field cannot choose: they belong to the page, or a script would be in them. */
const RESERVED = /^(?:class(?:name)?|form.*|id|label|name|on.*|style|dangerouslysetinnerhtml|children|key|ref)$/i;

/** Attributes as in HTML or, as core's types allow them, as in JSX. */
function toField(name: string, field: Field): FieldView {
  // What is typed must not be readable: many applications give the field a name and no type.
  const attributes: Record<string, string | true> = name === "password" ? { type: "password" } : {};
  for (const [key, value] of Object.entries(field)) {
    if (RESERVED.test(key) || value === undefined || value === null || value === false) continue;
    const attribute = key === "defaultValue" ? "value" : key.toLowerCase();
    if (value === true) attributes[attribute] = true;
    else if (typeof value === "string" || typeof value === "number") attributes[attribute] = String(value);
  }
  return { name, label: typeof field.label === "string" ? field.label : undefined, attributes };
}
