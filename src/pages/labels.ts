/** How the sign-in page calls buttons and fields, and what fields are for. */
import { fill, type Texts } from "./texts/texts.ts";
import type { FieldView, ProviderView } from "./types.ts";

/** The names that core gives providers which are no sign-in service to a user, but what mails a link. */
const MAIL_SERVICE = /^(?:Email|Forward Email|Loops|Mailgun|Nodemailer|Postmark|Resend|Send[Gg]rid)$/;

/** The text of a provider's button: "Sign in with …", unless its name is only the default of core's factory. */
export function signInLabel({ type, name, fields }: Pick<ProviderView, "type" | "name" | "fields">, texts: Texts) {
  if (type === "credentials" && name === "Credentials") {
    const password = fields.some(({ attributes }) => attributes.type === "password");
    return texts[password ? "signIn.password" : "signIn.credentials"];
  }
  if (type === "email" && MAIL_SERVICE.test(name)) return texts["signIn.email"];
  if (type === "webauthn" && name === "Passkey") return texts["signIn.passkey"];
  if (type === "webauthn" && name === "WebAuthn") return texts["signIn.securityKey"];
  return fill(texts["signIn.with"], { provider: name });
}

/** The label of a field: that of the application, else a word for a well-known field, else its name. */
export function fieldLabel({ name, label, attributes }: FieldView, texts: Texts): string {
  if (label !== undefined) return label;
  if (name === "email") return texts["field.email"];
  if (name === "username") return texts["field.username"];
  if (name === "password" || attributes.type === "password") return texts["field.password"];
  return name;
}

export function isIdentifier({ name, attributes }: FieldView): boolean {
  return attributes.type !== "hidden" && (isAddress({ name, attributes }) || name === "username");
}

export function isAddress({ name, attributes }: FieldView): boolean {
  return name === "email" || attributes.type === "email";
}
