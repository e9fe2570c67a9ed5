/** The helpers of core's verifier, which is installed only for passkeys. */

/**
 * Loads them. Within `try` bundlers accept that the package is not there; if it is, it is in the bundle.
 *
 * @throws {Error} If it is not installed.
 */
export async function loadHelpers(): Promise<typeof import("@simplewebauthn/server/helpers")> {
  try {
    return await import("@simplewebauthn/server/helpers");
  } catch (cause) {
    throw new Error(
      "Passkeys need the package @simplewebauthn/server: run `npm install @simplewebauthn/server@9`.",
      {
        cause,
      },
    );
  }
}
