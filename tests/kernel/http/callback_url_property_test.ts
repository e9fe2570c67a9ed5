/** Callback URLs of every kind, against the URL parser that browsers have (WHATWG). */
import { assert, assertEquals } from "@std/assert";
import { parseCookie } from "cookie";
import fc from "../../support/property.ts";
import { normalizeCallbackCookie, normalizeCallbackUrl } from "../../../src/http/callback_url.ts";
import { testApp } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

const ORIGIN = "http://localhost";
const MAXIMUM_LENGTH = 2048;

/** What makes URL parsers disagree, or headers break. */
const PIECES = [
  ...["/", "//", "\\", ".", "..", "%2e", "%2E%2e", "%2f", "%5c", "?", "#", "@", ":", ";", "&", "="],
  ...["http:", "https:", "HTTP://", "javascript:", "data:", "blob:", "file:", "ws:", "//evil.example"],
  ...["evil.example", "localhost", "localhost:3000", "[::1]", "user:pass@", "127.0.0.1", "a", "x y"],
  ...["\t", "\n", "\r", "\0", "\x7f", "\u0085", "\u2028", "\ufeff", " ", "%0d%0a", "%00", "%", "%zz"],
  ...["é", "日本", "🦕", "\ud800", "xn--", "．", "／", "＼"],
];

const shortUrls: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join("")),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => `/${pieces.join("")}`),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => `${ORIGIN}/${pieces.join("")}`),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.string({ unit: "binary", maxLength: 30 }),
);

const longUrls = fc.tuple(fc.constantFrom("a", "é", "🦕", "/", "%20"), fc.integer({ min: 200, max: 2500 }))
  .map(([piece, times]) => `/${piece.repeat(times)}`);

const callbackUrls = fc.oneof({ weight: 9, arbitrary: shortUrls }, longUrls);

Deno.test("a normalised callback URL is a path of this origin, or the http address that a URL parser reads", () => {
  fc.assert(
    fc.property(callbackUrls, (value) => {
      const url = normalizeCallbackUrl(value);
      if (url === undefined) return;
      assert(/^[\x21-\x7e]+$/.test(url), "printable ASCII");
      assert(url.length <= MAXIMUM_LENGTH);
      const resolved = new URL(url, ORIGIN);
      if (url.startsWith("/")) {
        assertEquals(resolved.origin, ORIGIN);
        // Two leading slashes would name a host.
        assert(!/^[/\\]{2}/.test(url));
        return;
      }
      assert(resolved.protocol === "http:" || resolved.protocol === "https:");
      assertEquals([resolved.username, resolved.password], ["", ""]);
      assertEquals(resolved.href, new URL(value).href);
    }),
    { numRuns: 5000 },
  );
});

Deno.test("a path of this origin stays the one that a URL parser reads", () => {
  const paths = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => `/${pieces.join("")}`);
  fc.assert(
    fc.property(paths, (path) => {
      // deno-lint-ignore no-control-regex -- refused, since URL parsers remove some of them
      if (/^\/[/\\]|[\0-\x1f\x7f]/.test(path)) return;
      const { href, origin, pathname } = new URL(path, ORIGIN);
      assertEquals(origin, ORIGIN);
      const expected = pathname.startsWith("//") ? href.replace(/^(http:\/\/localhost)\/+/, "$1/") : href;
      assertEquals(new URL(normalizeCallbackUrl(path)!, ORIGIN).href, expected);
    }),
    { numRuns: 5000 },
  );
});

Deno.test("a normalised callback URL is normal", () => {
  fc.assert(
    fc.property(callbackUrls, (value) => {
      const url = normalizeCallbackUrl(value);
      if (url !== undefined) assertEquals(normalizeCallbackUrl(url), url);
    }),
    { numRuns: 5000 },
  );
});

Deno.test("a callback-url cookie is normal or gone, and the other cookies stay", () => {
  const name = "authjs.callback-url";
  const encodings = fc.constantFrom(encodeURIComponent, (text: string) => text.replace(/[;\r\n]/g, ""));
  fc.assert(
    fc.property(fc.array(callbackUrls, { maxLength: 3 }), encodings, (values, encode) => {
      const sent = ["a=1", ...values.map((value) => `${name}=${encode(value.toWellFormed())}`), "b=2"];
      const header = normalizeCallbackCookie(sent.join("; "), name, "https://app.example");
      const { a, b, [name]: url } = parseCookie(header);
      assertEquals([a, b], ["1", "2"]);
      if (url !== undefined) assertEquals(normalizeCallbackUrl(url), url);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("no callback URL, wherever it comes from, leads to another origin or to an error", async () => {
  await using app = await testApp();
  const own = (location: unknown) => new URL(String(location), ORIGIN).origin === ORIGIN;
  await fc.assert(
    fc.asyncProperty(shortUrls, fc.constantFrom("body", "query", "cookie"), async (value, place) => {
      const client = new Client(app);
      const csrfToken = await client.csrfToken();
      const callbackUrl = value.toWellFormed();
      const query = place === "query" ? `?${new URLSearchParams({ callbackUrl })}` : "";
      if (place === "cookie") client.cookies.set("authjs.callback-url", encodeURIComponent(callbackUrl));
      const form = { csrfToken, username: "ada", ...(place === "body" && { callbackUrl }) };
      assertEquals((await client.get(`/auth/signin${query}`)).statusCode, 200);
      for (const password of ["wrong", "open"]) {
        const answer = await client.post(`/auth/callback/credentials${query}`, { ...form, password });
        assertEquals(answer.statusCode, 302);
        assert(own(answer.headers.location), String(answer.headers.location));
      }
      assertEquals((await client.get("/me")).json().session.user.name, "ada");
      const out = await client.post(`/auth/signout${query}`, form);
      assert(out.statusCode === 302 && own(out.headers.location), String(out.headers.location));
    }),
    { numRuns: 150 },
  );
});
