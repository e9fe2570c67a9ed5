/** An HTTP/2 connection that is closed at the end of its block. */
import http2 from "node:http2";

/** Connects; `using client = connectHttp2(…)` ends the connection. Deno can crash if many are ended by `close()`. */
export function connectHttp2(
  url: string,
  options: http2.SecureClientSessionOptions = {},
): http2.ClientHttp2Session & Disposable {
  const client = http2.connect(url, options);
  return Object.assign(client, { [Symbol.dispose]: () => client.destroy() });
}
