/** Hosts and schemes of every kind: each is a valid origin or a 400. */
import { assert, assertEquals } from "@std/assert";
import fc from "../../support/property.ts";
import { testApp, testConfig } from "../../support/app.ts";

const CALLBACK = "/auth/callback/credentials";

const hosts: fc.Arbitrary<string> = fc.oneof(
  fc.webAuthority({
    withIPv4: true,
    withIPv4Extended: true,
    withIPv6: true,
    withPort: true,
    withUserInfo: true,
  }),
  fc.domain(),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ unit: fc.constantFrom(..."ab.:/@\\?#[]%0_- ,;\t"), maxLength: 12 }),
  fc.constantFrom(
    "",
    "localhost",
    "a b",
    "a, b",
    "a/b",
    "user@a",
    "a:0",
    "a:65536",
    "[::1]",
    "[::1",
    "1",
    "0x7f.1",
    "xn--",
    ".",
  ),
);

const protocols = fc.oneof(
  fc.constantFrom(
    "http",
    "HTTP",
    "https",
    "HTTPS",
    "ws",
    "WSS",
    "javascript",
    "file",
    "http:",
    "https,http",
    "http, wss",
    "",
  ),
  fc.string({ maxLength: 8 }),
);

const headers = fc.record({
  host: fc.oneof(hosts, fc.array(hosts, { minLength: 1, maxLength: 3 })),
  ":authority": hosts,
  "x-forwarded-host": hosts,
  "x-forwarded-proto": protocols,
}, { requiredKeys: [] });

for (const trustProxy of [false, true]) {
  Deno.test(`any Host, :authority and X-Forwarded-* is a valid origin or a 400 (trustProxy: ${trustProxy})`, async () => {
    await using app = await testApp(testConfig(), { trustProxy });
    await fc.assert(
      fc.asyncProperty(headers, async (headers) => {
        const request = { headers: headers as Record<string, string> };
        const me = await app.inject({ url: "/me", ...request });
        assertEquals([me.statusCode, me.json()], [200, { session: null }]);
        const answer = await app.inject({ url: "/auth/providers", ...request });
        if (answer.statusCode !== 200) {
          assertEquals([answer.statusCode, answer.json().code], [400, "FST_AUTHJS_HOST_INVALID"]);
          return;
        }
        const { callbackUrl } = answer.json().credentials;
        assert(callbackUrl.endsWith(CALLBACK), callbackUrl);
        const origin = callbackUrl.slice(0, -CALLBACK.length);
        const url = new URL(origin);
        assertEquals(url.origin, origin, "no path, no user, no query");
        assert(/^https?:$/.test(url.protocol), origin);
      }),
      { numRuns: 1_000 },
    );
  });
}
