/** The floor of what opens a token for each request: it decrypts by hand, and has no callbacks, checks or cache. */
import Fastify from "fastify";
import { createDecipheriv, createHmac, createSecretKey, hkdfSync, timingSafeEqual } from "node:crypto";
import { COOKIE, listen, SECRET, sessionCookie } from "../fixture.js";

export async function start() {
  const open = byHand();
  const app = Fastify();
  app.get("/me", (request) => {
    const { name, email, picture } = open(request.headers.cookie.slice(COOKIE.length + 1));
    return { name, email, image: picture };
  });
  return { port: await listen(app), cookie: await sessionCookie() };
}

/** What reading a token costs at the least: its cryptography and JSON, with a key made once. */
function byHand() {
  const info = `Auth.js Generated Encryption Key (${COOKIE})`;
  const key = Buffer.from(hkdfSync("sha256", SECRET, COOKIE, info, 64));
  const macKey = createSecretKey(key.subarray(0, 32));
  const cipherKey = createSecretKey(key.subarray(32));
  return (token) => {
    const [header, , iv, ciphertext, tag] = token.split(".");
    const data = Buffer.from(ciphertext, "base64url");
    const vector = Buffer.from(iv, "base64url");
    const headerBits = Buffer.alloc(8);
    headerBits.writeUInt32BE(header.length * 8, 4);
    const mac = createHmac("sha512", macKey).update(header).update(vector)
      .update(data).update(headerBits).digest();
    if (!timingSafeEqual(mac.subarray(0, 32), Buffer.from(tag, "base64url"))) {
      throw new Error("tampered");
    }
    const decipher = createDecipheriv("aes-256-cbc", cipherKey, vector);
    const claims = JSON.parse(
      decipher.update(data, undefined, "utf8") + decipher.final("utf8"),
    );
    if (claims.exp < Date.now() / 1000) throw new Error("expired");
    return claims;
  };
}
