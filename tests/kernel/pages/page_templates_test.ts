import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { Languages } from "../../../src/pages/language.ts";
import { renderPage } from "../../../src/pages/page.ts";
import { PageTemplates } from "../../../src/pages/page_templates.ts";
import type { Page, PageView } from "../../../src/pages/types.ts";

const FORM = {
  id: "email",
  brand: "email",
  name: "Email",
  type: "email",
  fields: [{ name: "email", attributes: { type: "email" } }],
  conditional: false,
};
const PASSKEY = { ...FORM, id: "passkey", brand: "passkey", type: "webauthn", fields: [], conditional: true };
const HOSTILE = `"><script>alert('&amp;')</script>$& $1 \${x}`;
const URLS = ["/", "https://app.example/?a=1&b=2", "/%22%3E", `/${HOSTILE}`];

/** Every kind of page, with every property there or not. */
const PAGES: Page[] = [undefined, "token", HOSTILE].flatMap((csrfToken) =>
  [undefined, ...URLS].flatMap((callbackUrl): Page[] => [
    { kind: "signIn", providers: [FORM, PASSKEY], csrfToken, callbackUrl },
    { kind: "signIn", providers: [FORM], csrfToken, callbackUrl, email: HOSTILE, error: "AccessDenied" },
    { kind: "signIn", providers: [FORM], csrfToken, callbackUrl, email: "" },
    { kind: "signIn", providers: [FORM], csrfToken, callbackUrl, asked: callbackUrl },
    { kind: "signOut", csrfToken, callbackUrl, returnUrl: HOSTILE },
    { kind: "signedIn", csrfToken, callbackUrl, returnUrl: "/auth/signin", name: csrfToken },
    { kind: "signInAgain", providers: [FORM], csrfToken, callbackUrl, name: HOSTILE },
    { kind: "signedOut" },
    { kind: "signIn", providers: [FORM], csrfToken, callbackUrl, email: HOSTILE, error: "CredentialsSignin" },
    { kind: "error", error: "Verification", callbackUrl },
    { kind: "error", error: "AccessDenied", callbackUrl },
    { kind: "redirect", url: callbackUrl ?? "/", to: csrfToken ?? "app.example" },
    { kind: "verifyRequest" },
    {
      kind: "confirm",
      action: "/auth",
      fields: { token: HOSTILE },
      email: "ada@app.example",
      automatic: true,
    },
  ])
);

async function viewOf(language: string, site = "app.example", nonce = "nonce"): Promise<PageView> {
  return {
    language: await new Languages({ language }).choose({ headers: {}, url: "/" } as never),
    nonce: { script: nonce, style: `style-${nonce}` },
    mountPath: "/auth",
    site,
    look: { logo: undefined, style: undefined, colorScheme: "auto" },
    assets: { address: (name) => `/auth/assets/${name}`, hasLogo: () => false },
  };
}

Deno.test("a page from a template is the one that is rendered for the request", async () => {
  for (const page of PAGES) {
    const templates = new PageTemplates();
    for (const nonce of ["first", "second"]) {
      for (
        const view of [await viewOf("en", "app.example", nonce), await viewOf("de", "<b>.example", nonce)]
      ) {
        assertEquals(templates.render(page, view), renderPage(page, view), JSON.stringify(page));
      }
    }
  }
});

Deno.test("one template serves requests with other values, and another one another page", async () => {
  const view = await viewOf("en");
  const templates = new PageTemplates();
  // The providers of a configuration stay the same.
  const ofOneConfiguration = PAGES.filter((page) => !("providers" in page) || page.providers.length === 1);
  for (const page of [...ofOneConfiguration, ...ofOneConfiguration]) {
    assertEquals(templates.render(page, view), renderPage(page, view), JSON.stringify(page));
  }
});

Deno.test("the sign-in page is rendered once for each site, however many requests and tokens", async () => {
  let rendered = false;
  const provider = {
    ...FORM,
    get name() {
      rendered = true;
      return "First";
    },
  };
  const templates = new PageTemplates();
  const renders = async (site: string, csrfToken: string) => {
    const view = await viewOf("en", site, csrfToken);
    rendered = false;
    const page: Page = { kind: "signIn", providers: [provider], csrfToken, callbackUrl: "/" };
    assertStringIncludes(templates.render(page, view), `value="${csrfToken}"`);
    return rendered;
  };
  assertEquals(await renders("one.example", "a1"), true);
  assertEquals(await renders("one.example", "a2"), false);
  assertEquals(await renders("one.example", "a3"), false);
  assertEquals(await renders("two.example", "a4"), true);
  assertEquals(await renders("two.example", "a5"), false);
  assertEquals(await renders("one.example", "a6"), false);
});

Deno.test("a client that names many hosts gets the page of each", async () => {
  const templates = new PageTemplates();
  const page: Page = { kind: "signOut", csrfToken: "token", callbackUrl: "/", returnUrl: "/" };
  const views = await Promise.all(
    Array.from({ length: 300 }, (_, index) => viewOf("en", `${index}.example`)),
  );
  const pages = views.map((view) => templates.render(page, view));
  assertStringIncludes(pages[0]!, "0.example");
  assertStringIncludes(templates.render(page, views[0]!), "0.example");
  assertNotEquals(pages[0], pages[1]);
});
