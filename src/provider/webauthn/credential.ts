/** Checks the credential that a browser sends, before core reads it. */
import { Buffer } from "node:buffer";
import { decodeBase64Url, isObject, parseJsonObject } from "../../utils/decode.ts";

/** 1023 bytes (WebAuthn section 4) in base64url. */
const MAXIMUM_ID_LENGTH = 1364;

/** For example "usb". Transports are stored, and sent to browsers again. */
const TRANSPORT = /^[\w-]{1,32}$/;
const MAXIMUM_TRANSPORTS = 10;

/** What is wrong with the body of a callback, for the log. */
export function credentialProblem({ action, data }: Record<string, unknown>): string | undefined {
  if (action !== "authenticate" && action !== "register") {
    return 'The field "action" must be "authenticate" or "register".';
  }
  const credential = parseJsonObject(String(data));
  if (credential === undefined) {
    return 'The field "data" must be the text of a JSON object: JSON.stringify(credential).';
  }
  const { id, response } = credential;
  // Canonical base64url only: in another spelling, the adapter would take the same id for a second credential.
  const isId = typeof id === "string" && id !== "" && id.length <= MAXIMUM_ID_LENGTH &&
    decodeBase64Url(id) !== undefined;
  if (!isId || !isObject(response)) {
    return 'The field "data" is no credential: it must have an `id` and a `response`.';
  }
  const { transports = [] } = response;
  const areTransports = Array.isArray(transports) && transports.length <= MAXIMUM_TRANSPORTS &&
    transports.every((each) => typeof each === "string" && TRANSPORT.test(each));
  return areTransports ? undefined : 'The field "data" has `transports` that are none.';
}

export function challengeOf(data: unknown): string | undefined {
  const { response } = parseJsonObject(String(data)) ?? {};
  const { clientDataJSON } = isObject(response) ? response : {};
  const { challenge } = parseJsonObject(Buffer.from(String(clientDataJSON), "base64url").toString()) ?? {};
  return typeof challenge === "string" ? challenge : undefined;
}
