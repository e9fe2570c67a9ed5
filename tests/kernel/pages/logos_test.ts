/** The logo and the name of each provider on the sign-in page. */
import type { Provider } from "@auth/core/providers";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { contrast, luminanceOf } from "../../../src/pages/colour.ts";
import deno from "../../../deno.json" with { type: "json" };
import { testApp, testConfig } from "../../support/app.ts";

type Factory = (options: Record<string, unknown>) => Provider & { id: string; type: string; name: string };

/** Every OAuth and OpenID Connect provider, by the name of its module. */
async function oauthProviders(): Promise<Map<string, ReturnType<Factory>>> {
  const modules = Object.keys(deno.exports).filter((path) => path.startsWith("./providers/"));
  const settings = {
    clientId: "id",
    clientSecret: "secret",
    issuer: "https://issuer.example",
    server: "smtp://x",
  };
  const made = await Promise.all(modules.map(async (path) => {
    const { default: factory } = await import(`fastify-authjs/${path.slice(2)}`) as { default: Factory };
    return [path.replace("./providers/", ""), factory(settings)] as const;
  }));
  return new Map(made.filter(([, { type }]) => type === "oauth" || type === "oidc"));
}

const PROVIDERS = await oauthProviders();

/** What the page and its files have of each provider, by its id. */
async function shown() {
  await using app = await testApp(testConfig({ providers: [...PROVIDERS.values()] }));
  const { body } = await app.inject("/auth/signin");
  const [address = ""] = /\/auth\/assets\/logos[^"#]+/.exec(body) ?? [];
  const [style = ""] = /\/auth\/assets\/style[^"]+/.exec(body) ?? [];
  const logos = (await app.inject(address)).body;
  const css = (await app.inject(style)).body;
  const forms = [...body.matchAll(/<form[^>]* data-brand="([^"]+)"[^>]*>.*?<\/form>/gs)];
  return { logos, css, forms: new Map(forms.map(([form, brand]) => [brand!, form])) };
}

Deno.test("each of the 93 OAuth providers has a logo and a name on the sign-in page", async () => {
  assertEquals(PROVIDERS.size, 93);
  const { logos, forms } = await shown();
  const symbols = new Map(
    [...logos.matchAll(/<symbol id="([^"]+)".*?<\/symbol>/g)].map(([all, id]) => [id!, all]),
  );
  for (const { id } of PROVIDERS.values()) {
    const form = forms.get(id) ?? "";
    assertMatch(form, new RegExp(`<use href="[^"#]+#${id}"`), id);
    const [, name = ""] = /<span>Sign in with ([^<]+)<\/span>/.exec(form) ?? [];
    assert(name !== "" && name !== id, `${id} is called ${JSON.stringify(name)}`);
    assertMatch(symbols.get(id) ?? "", /<(?:path|circle) [^>]+\/>/, id);
  }
});

Deno.test("providers have the names that users know", async () => {
  const { forms } = await shown();
  const names = {
    "microsoft-entra-id": "Microsoft",
    "azure-ad": "Microsoft",
    twitter: "X",
    cognito: "Amazon Cognito",
  };
  for (const [id, name] of Object.entries(names)) {
    assert(forms.get(id)!.includes(`<span>Sign in with ${name}</span>`), id);
  }
});

Deno.test("the logo of a provider of the application is shown, and the policy allows its source", async () => {
  for (
    const [logo, source] of [["https://cdn.example/op.svg", "https://cdn.example"], [
      "data:image/gif;base64,R0",
      "data:",
    ]]
  ) {
    const op = { id: "op", name: "OP", type: "oidc", issuer: "https://op.example", clientId: "app", style: { logo } };
    await using app = await testApp(testConfig({ providers: [op as never] }));
    const { body, headers } = await app.inject("/auth/signin");
    assert(body.includes(`src="${logo}"`), body);
    assertMatch(String(headers["content-security-policy"]), new RegExp(`img-src [^;]*${source}`));
  }
});

Deno.test("a provider without a form is not on the page", async () => {
  const silent = { id: "silent", name: "Silent", type: "credentials", authorize: () => null };
  await using app = await testApp(testConfig({ providers: [silent as never] }));
  assert(!(await app.inject("/auth/signin")).body.includes("Silent"));
});

Deno.test("Google's logo has its four colours, and one that is dark is light in dark mode", async () => {
  const { logos, css } = await shown();
  const google = /<symbol id="google".*?<\/symbol>/.exec(logos)![0];
  assertEquals(new Set(google.match(/fill="#\w+"/g)).size, 4);
  assertMatch(css, /\[data-brand="github"\]\{--mark-light:#181717;--mark-dark:currentColor\}/);
  for (
    const [, id, light, dark] of css.matchAll(
      /\[data-brand="([^"]+)"\]\{--mark-light:([^;]+);--mark-dark:([^}]+)\}/g,
    )
  ) {
    const against = (colour: string, card: number) =>
      colour === "currentColor" ? 21 : contrast(luminanceOf(colour.slice(1)), card);
    assert(against(light!, 1) >= 1.8 && against(dark!, 0.012) >= 3, id);
  }
});

Deno.test("the logos of a usual sign-in page are small", async () => {
  const usual = ["google", "apple", "microsoft-entra-id", "github"].map((id) => PROVIDERS.get(id)!);
  await using app = await testApp(testConfig({ providers: usual }));
  const [address = ""] = /\/auth\/assets\/logos[^"#]+/.exec((await app.inject("/auth/signin")).body) ?? [];
  assert((await app.inject(address)).body.length < 4_000);
});
