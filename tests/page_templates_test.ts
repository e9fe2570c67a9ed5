import { assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { Languages } from "../src/pages/language.ts";
import { renderPage } from "../src/pages/page.ts";
import { PageTemplates } from "../src/pages/page_templates.ts";
import type { Page, PageView } from "../src/pages/types.ts";

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
    { kind: "signOut", csrfToken, callbackUrl },
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

function viewOf(language: string, site = "app.example", nonce = "nonce"): PageView {
  return {
    language: new Languages({ language }).choose({ headers: {}, url: "/" } as never),
    nonce: { script: nonce, style: `style-${nonce}` },
    mountPath: "/auth",
    site,
    look: { logo: undefined, style: undefined, colorScheme: "auto" },
    assets: { address: (name) => `/auth/assets/${name}`, hasLogo: () => false },
  };
}

Deno.test("a page from a template is the one that is rendered for the request", () => {
  for (const page of PAGES) {
    const templates = new PageTemplates();
    for (const nonce of ["first", "second"]) {
      for (const view of [viewOf("en", "app.example", nonce), viewOf("de", "<b>.example", nonce)]) {
        assertEquals(templates.render(page, view), renderPage(page, view), JSON.stringify(page));
      }
    }
  }
});

Deno.test("one template serves requests with other values, and another one another page", () => {
  const templates = new PageTemplates();
  // The providers of a configuration stay the same.
  const ofOneConfiguration = PAGES.filter((page) => page.kind !== "signIn" || page.providers.length === 1);
  for (const page of [...ofOneConfiguration, ...ofOneConfiguration]) {
    assertEquals(templates.render(page, viewOf("en")), renderPage(page, viewOf("en")), JSON.stringify(page));
  }
});

Deno.test("the sign-in page is rendered once for each site, however many requests and tokens", () => {
  let rendered = false;
  const provider = {
    ...FORM,
    get name() {
      rendered = true;
      return "First";
    },
  };
  const templates = new PageTemplates();
  const renders = (site: string, csrfToken: string) => {
    rendered = false;
    const page: Page = { kind: "signIn", providers: [provider], csrfToken, callbackUrl: "/" };
    assertStringIncludes(templates.render(page, viewOf("en", site, csrfToken)), `value="${csrfToken}"`);
    return rendered;
  };
  assertEquals(["a1", "a2", "a3"].map((token) => renders("one.example", token)), [true, false, false]);
  assertEquals(["a4", "a5"].map((token) => renders("two.example", token)), [true, false]);
  assertEquals(renders("one.example", "a6"), false);
});

Deno.test("a client that names many hosts gets the page of each", () => {
  const templates = new PageTemplates();
  const page: Page = { kind: "signOut", csrfToken: "token", callbackUrl: "/" };
  const pages = Array.from(
    { length: 300 },
    (_, index) => templates.render(page, viewOf("en", `${index}.example`)),
  );
  assertStringIncludes(pages[0]!, "0.example");
  assertStringIncludes(templates.render(page, viewOf("en", "0.example")), "0.example");
  assertNotEquals(pages[0], pages[1]);
});
