//? smtp
import process from "node:process";
import { setting } from "./environment.ts";

/** Of a mail that signs in. */
interface Mail {
  identifier: string;
  url: string;
  code?: string;
}

/**
 * How mails are sent: through EMAIL_SERVER. As long as that is not set, they are in
 * the log, which production refuses.
 */
export function mailSettings() {
  const from = setting("EMAIL_FROM");
  const { EMAIL_SERVER, NODE_ENV } = process.env;
  if (EMAIL_SERVER || NODE_ENV === "production") {
    return { server: setting("EMAIL_SERVER"), from };
  }
  return {
    server: "smtp://localhost",
    from,
    sendVerificationRequest({ identifier, url, code }: Mail) {
      console.log(`Mail to ${identifier}: the code ${code}, or ${url}`);
    },
  };
}
//? end
