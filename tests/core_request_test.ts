import { assertEquals, assertStrictEquals } from "@std/assert";
import { toCoreRequest } from "../src/core/request.ts";

const url = "https://app.example/auth/signin/op?a=b";
const request = () =>
  toCoreRequest({
    url,
    method: "POST",
    headers: { host: "app.example", connection: "close", cookie: "a=b" },
    override: { host: undefined, "x-a": "c" },
    body: { csrfToken: "token" },
  });

Deno.test("the request for core has what core reads", async () => {
  const { method, headers, body } = request();
  assertEquals([request().url, method], [url, "POST"]);
  assertEquals([...headers], [["cookie", "a=b"], ["x-a", "c"], ["content-type", "application/json"]]);
  assertEquals([headers.get("Cookie"), headers.get("host"), headers.has("X-A")], ["a=b", null, true]);
  assertEquals(body === null, false);
  assertEquals(await request().json(), { csrfToken: "token" });
});

Deno.test("the request for core answers for all of a Request, whatever core comes to read", async () => {
  const whole = request();
  assertEquals(whole.redirect, "follow");
  assertStrictEquals(whole.signal, whole.signal);
  assertEquals(await whole.clone().json(), { csrfToken: "token" });
  assertEquals(await whole.text(), `{"csrfToken":"token"}`);
  assertEquals([...request().headers.keys()], ["content-type", "cookie", "x-a"]);
  const names: string[] = [];
  request().headers.forEach((_, name) => names.push(name));
  assertEquals(names, ["content-type", "cookie", "x-a"]);
});
