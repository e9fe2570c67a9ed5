/** Compresses a text for a module of the package, in which `src/utils/unpack.ts` unpacks it. */
import { brotliCompressSync, constants } from "node:zlib";
import { unpack } from "../src/utils/unpack.ts";

/** The text, compressed with Brotli, in Base64. */
export function pack(text: string): string {
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }).toString("base64");
}

/** The source of a module with its packed texts unpacked: another release of Brotli packs the same otherwise. */
export function unpackSource(source: string): string {
  return source.replace(/"([A-Za-z\d+/]{1000,}=*)"/g, (_literal, packed) => JSON.stringify(unpack(packed)));
}
