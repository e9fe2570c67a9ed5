/** Texts that the package has compressed, since they are large and seldom needed. */
import { Buffer } from "node:buffer";
import { brotliDecompressSync } from "node:zlib";

/** @param packed A text, compressed with Brotli (RFC 7932), in Base64. */
export function unpack(packed: string): string {
  return brotliDecompressSync(Buffer.from(packed, "base64")).toString();
}
