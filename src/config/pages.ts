/** The pages of the configuration: those of the application, and the look of the built-in ones. */
import type { Provider } from "@auth/core/providers";
import { invalidConfig } from "../errors.ts";
import type { AssetOptions } from "../pages/assets.ts";
import { readableOn } from "../pages/colour.ts";
import { PagePolicy, sourceOf } from "../pages/policy.ts";
import type { Languages } from "../pages/language.ts";
import type { Look, Page, PageView, ProviderView } from "../pages/types.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import { toProviderView } from "../provider/view.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { later } from "../utils/later.ts";

export interface PageSettings {
  readonly look: Look;
  readonly theme: string;
  readonly providers: readonly ProviderView[];
  readonly languages: Languages;
  /** The name of the site; without one it is the host. */
  readonly siteName: string | undefined;
  /** The application's page for mailed links. */
  readonly confirmEmail: string | undefined;
  /** What the pages may reach besides their own origin. */
  readonly policy: PagePolicy;
  readonly render: (page: Page, view: PageView) => Promise<string>;
}

/**
 * The settings of the built-in pages.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if a page or the theme is invalid.
 */
export function pageSettings(
  { pages = {}, theme = {} }: Pick<FastifyAuthConfig, "pages" | "theme">,
  providers: readonly Provider[],
  summaries: readonly ProviderSummary[],
  languages: Languages,
): PageSettings {
  const { language: _language, texts: _texts, siteName, links = {}, panel, themeColor, ...addresses } = pages;
  for (const [name, address] of Object.entries(addresses)) assertAddress(name, address);
  for (const [name, address] of Object.entries(links)) assertAddress(`links.${name}`, address);
  assertAddress("panel.image", panel?.image);
  if (themeColor !== undefined) assertColour("pages.themeColor", themeColor);
  const views = providers.map(toProviderView).filter((view) => view !== undefined);
  const { darkLogo, favicon, style } = pages;
  const { logo = darkLogo, colorScheme = "auto" } = theme;
  const look = { logo, darkLogo, favicon, themeColor, panel, links, style, colorScheme };
  return {
    look,
    theme: themeRules(theme),
    providers: views,
    languages,
    siteName,
    confirmEmail: pages.confirmEmail,
    render: later(loadTemplates),
    policy: new PagePolicy({
      forms: sources(summaries.flatMap(({ server }) => [server.issuer, server.authorization])),
      images: sources([logo, darkLogo, favicon, panel?.image, ...views.map(({ logo }) => logo)]),
      styles: sources([look.style]),
    }),
  };
}

async function loadTemplates(): Promise<(page: Page, view: PageView) => string> {
  const { PageTemplates } = await import("../pages/page_templates.ts");
  const templates = new PageTemplates();
  return (page, view) => templates.render(page, view);
}

export function assetOptions({ theme, providers }: PageSettings): AssetOptions {
  const ofProviders = providers.filter(({ type, logo }) =>
    /^(?:oauth|oidc)$/.test(type) && logo === undefined
  );
  return {
    theme,
    logos: ofProviders.map(({ brand }) => brand),
    passkeys: providers.some(({ type }) => type === "webauthn"),
  };
}

function assertAddress(name: string, page: string | undefined): void {
  if (page === undefined || /^\/(?![/\\])/.test(page)) return;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(page) && URL.canParse(page)) return;
  const given = typeof page === "string" ? JSON.stringify(page) : `a ${typeof page}`;
  throw invalidConfig(
    `\`pages.${name}\` is ${given}, which leads nowhere: write a path that begins with "/", or a URL such as ` +
      '"https://app.example/signin".',
  );
}

function sources(urls: readonly (string | undefined)[]): string[] {
  return [...new Set(urls.map(sourceOf).filter((source) => source !== undefined))];
}

type Theme = NonNullable<FastifyAuthConfig["theme"]>;

/** The colours of the theme as custom properties. */
function themeRules({ brandColor, buttonText }: Theme): string {
  const properties = {
    "--auth-brand": brandColor,
    "--auth-brand-text": buttonText || readableOn(brandColor),
  };
  const rules = Object.entries(properties)
    .filter(([, value]) => value)
    .map(([name, value]) => {
      assertColour("theme", value!);
      return `${name}: ${value};`;
    });
  return rules.length === 0 ? "" : `:root { ${rules.join(" ")} }\n`;
}

function assertColour(name: string, value: string): void {
  if (!/[;{}<>\\]|\/\*/.test(value)) return;
  throw invalidConfig(
    `\`${name}\` has ${JSON.stringify(value)}, which is no colour: write one as in CSS, such as "#346df1".`,
  );
}
