/** stub until generated */
export type OAuthProviderType = "github" | "passkey" | "webauthn" | "nodemailer";
