/** Reads the claims of a JWT without validating it. */
import { decodeBase64Url } from "./base64url.ts";
import { parseJsonObject } from "./json.ts";

/** The claims of a signed JWT; `undefined` for anything else. */
export function jwtPayload(jwt: string | undefined): Record<string, unknown> | undefined {
  const bytes = decodeBase64Url(jwt?.split(".")[1] ?? "");
  return bytes === undefined ? undefined : parseJsonObject(bytes.toString());
}
