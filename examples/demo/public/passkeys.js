// Passkeys, with the plugin's own routes: options from /auth/webauthn-options, the browser's answer to /auth/callback.
// The library is the one that Auth.js expects, and this server sends it along.
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from "/assets/simplewebauthn.js";

async function answerOptions(action, callbackUrl, answer) {
  const response = await fetch(`/auth/webauthn-options/passkey?action=${action}`);
  const { options, error } = await response.json();
  if (!response.ok) throw new Error(error);
  const credential = await answer(options);
  const result = await fetch("/auth/callback/passkey", {
    method: "POST",
    headers: { "content-type": "application/json", "x-auth-return-redirect": "1" },
    body: JSON.stringify({ action, data: JSON.stringify(credential), callbackUrl }),
  });
  const { url } = await result.json();
  location.assign(url);
}

/** What browsers call the ways in which it can go wrong before anything is sent. */
const PROBLEMS = {
  NotAllowedError: "No passkey was used. Try again, or choose another way.",
  InvalidStateError: "This device has a passkey of yours already.",
};

const isAddress = /^(?:\[.*\]|[\d.]+)$/.test(location.hostname);

function whyNot() {
  if (isAddress) return `Passkeys belong to a name: open http://localhost:${location.port} instead.`;
  return browserSupportsWebAuthn() ? "" : "This browser has no passkeys.";
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const action = form.dataset.passkey;
  const status = form.querySelector("[role=status]");
  const callbackUrl = form.elements.callbackUrl.value;
  if (whyNot()) {
    status.textContent = whyNot();
    continue;
  }
  form.querySelector("button").disabled = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    status.textContent = "Your browser is asking you.";
    const start = action === "register" ? startRegistration : startAuthentication;
    await answerOptions(action, callbackUrl, start).catch((error) => {
      status.textContent = PROBLEMS[error.name] ?? error.message;
    });
  });
  if (action === "authenticate" && await browserSupportsWebAuthnAutofill()) offerInField(callbackUrl);
}

/** Offers the passkeys where user names are typed, as long as the page is open. */
function offerInField(callbackUrl) {
  answerOptions("authenticate", callbackUrl, (options) => startAuthentication(options, true))
    .catch((error) => error.name === "AbortError" || console.warn(error));
}

for (const button of document.querySelectorAll("[data-remove]")) {
  button.disabled = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    await fetch(`/passkeys?id=${encodeURIComponent(button.dataset.remove)}`, { method: "DELETE" });
    location.reload();
  });
}
