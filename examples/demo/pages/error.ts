import { type Html, html } from "./html.ts";
import { layout, type View } from "./layout.ts";

/** What Auth.js reports to its error page, in words. */
const ERRORS = new Map([
  ["Verification", {
    title: "This link does not work any more",
    text: "It was used already, or its day is over. Ask for another.",
  }],
  ["AccessDenied", { title: "No entry", text: "You are who you say you are, but you may not sign in here." }],
  ["WebAuthnVerificationError", {
    title: "This passkey does not open anything here",
    text: "Perhaps it was removed, or took too long. Sign in another way, and add a new one.",
  }],
  ["Configuration", { title: "Something is wrong on the server", text: "Its log says what." }],
]);
const OTHER = { title: "That did not work", text: "Please try to sign in again." };

/** The page for sign-ins that failed in a way trying again does not help. */
export function errorPage(view: View, error = ""): Html {
  const { title, text } = ERRORS.get(error) ?? OTHER;
  return messagePage(
    view,
    title,
    text,
    html`<a class="button" href="/signin?callbackUrl=%2F">To the sign-in page</a>`,
  );
}

export function notFoundPage(view: View): Html {
  return messagePage(
    view,
    "There is nothing here",
    "Perhaps the address has a slip in it.",
    html`<a class="button" href="/">Home</a>`,
  );
}

function messagePage(view: View, title: string, text: string, action: Html): Html {
  return layout(
    view,
    title,
    html`
      <section class="panel narrow centred">
        <h1>${title}</h1>
        <p>${text}</p>
        <p class="actions">${action}</p>
      </section>
    `,
  );
}
