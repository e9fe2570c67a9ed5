/**
 * What a browser sends of an authenticator, before core looks at it.
 *
 * @module
 */
import { decodeBase64Url } from "../../utils/base64url.ts";

/** A credential id has up to 1023 bytes (WebAuthn section 4), here in base64url. */
const LONGEST_ID = 1364;

/** Such as "usb"; they are stored as they come, and sent to browsers again. */
const TRANSPORT = /^[\w-]{1,32}$/;
const MAXIMUM_TRANSPORTS = 10;

/** What is wrong with the body of a callback, for the log. Core would stumble over most of it. */
export function credentialProblem({ action, data }: Record<string, unknown>): string | undefined {
  if (action !== "authenticate" && action !== "register") {
    return 'The field "action" must be "authenticate" or "register".';
  }
  const credential = parse(data);
  if (!isRecord(credential)) {
    return 'The field "data" must be the text of a JSON object: JSON.stringify(credential).';
  }
  const { id, response } = credential;
  if (!isCredentialId(id) || !isRecord(response)) {
    return 'The field "data" is no credential: it must have an `id` and a `response`.';
  }
  const { transports } = response;
  if (transports !== undefined && !areTransports(transports)) {
    return 'The field "data" has `transports` that are none.';
  }
}

/** In one spelling: another of the same bytes would be a second credential to the database. */
function isCredentialId(id: unknown): boolean {
  return typeof id === "string" && id !== "" && id.length <= LONGEST_ID && decodeBase64Url(id) !== undefined;
}

function parse(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function areTransports(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MAXIMUM_TRANSPORTS &&
    value.every((each) => typeof each === "string" && TRANSPORT.test(each));
}
