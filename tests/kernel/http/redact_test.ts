/** What the logs of the auth routes get, with any logger. */
import { assertEquals } from "@std/assert";
import { redactingSerializers } from "../../../src/http/redact.ts";

const request = {
  method: "GET",
  url: "/auth/callback/github?code=secret",
  params: { "*": "callback?code=secret" },
  headers: null,
  raw: null,
};

Deno.test("a logger without serializers gets the line of a request, without its codes", () => {
  const { req, res } = redactingSerializers({} as never);
  assertEquals(req!(request), { method: "GET", url: "/auth/callback/github?code=[redacted]" });
  assertEquals(res, undefined);
});

Deno.test("a serializer reads parts that a request lacks as they are, and the others without codes", () => {
  const own = ({ params, headers, raw }: typeof request) => ({ params, headers, raw });
  const log = { [Symbol.for("pino.serializers")]: { req: own } };
  assertEquals(redactingSerializers(log as never).req!(request), {
    params: { "*": "callback?code=[redacted]" },
    headers: null,
    raw: null,
  });
});
