/** The mail with a sign-in link, as a mail program with an engine of a browser shows it. */
import { assertEquals } from "@std/assert";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { testApp, testConfig } from "../../support/app.ts";
import { browserTest } from "../../support/browser.ts";
import { Client } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { overlapsOf } from "../../support/overlaps.ts";
import { startSmtp } from "../../support/smtp.ts";

for (const [colorScheme, background] of [["light", "246, 245, 243"], ["dark", "18, 17, 22"]] as const) {
  for (const width of [360, 900]) {
    browserTest(`a mail fits into ${width} px, in ${colorScheme} colours`, async (page) => {
      await using smtp = await startSmtp();
      const server = { host: "127.0.0.1", port: smtp.port };
      const provider = Nodemailer({ server, from: "no-reply@example.com" });
      await using app = await testApp(testConfig({ adapter: memoryAdapter(), providers: [provider] }));
      const client = new Client(app);
      const form = { csrfToken: await client.csrfToken(), email: "ada@example.com" };
      await client.post("/auth/signin/nodemailer", form);
      await page.setContent(smtp.mails[0]!.message.html!);
      assertEquals(await page.evaluate("document.documentElement.scrollWidth"), width);
      assertEquals(
        await page.evaluate("getComputedStyle(document.body).backgroundColor"),
        `rgb(${background})`,
      );
      assertEquals(await overlapsOf(page), []);
      await page.getByRole("link", { name: "Sign in", exact: true }).waitFor();
    }, { colorScheme, viewport: { width, height: 800 } });
  }
}
