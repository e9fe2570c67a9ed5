// Passkeys, with the plugin's own routes: options from /auth/webauthn-options, the browser's answer to /auth/callback.
// The library is the one that Auth.js expects, and this server sends it along.
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from "/assets/simplewebauthn.js";

async function optionsFor(action) {
  const response = await fetch(`/auth/webauthn-options/passkey?action=${action}`);
  const { options, error } = await response.json();
  if (!response.ok) throw new Error(error);
  return options;
}

async function send(action, callbackUrl, credential) {
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
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    status.textContent = "Your browser is asking you.";
    const start = action === "register" ? startRegistration : startAuthentication;
    try {
      await send(action, callbackUrl, await start(await optionsFor(action)));
    } catch (error) {
      status.textContent = PROBLEMS[error.name] ?? error.message;
    }
  });
  // The browser keeps one challenge at a time: options that arrive after a click would end what it began.
  if (action === "authenticate" && await browserSupportsWebAuthnAutofill()) await offerInField(callbackUrl);
  form.querySelector("button").disabled = false;
}

/** Offers the passkeys where user names are typed, as long as the page is open. Waits for the options alone. */
async function offerInField(callbackUrl) {
  try {
    const offered = startAuthentication(await optionsFor("authenticate"), true);
    offered.then((credential) => send("authenticate", callbackUrl, credential)).catch(forget);
  } catch (error) {
    forget(error);
  }
}

/** The user did not ask for the offer, so its failure is not shown. */
function forget(error) {
  if (error.name !== "AbortError") console.warn(error);
}

for (const button of document.querySelectorAll("[data-remove]")) {
  button.disabled = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    await fetch(`/passkeys?id=${encodeURIComponent(button.dataset.remove)}`, { method: "DELETE" });
    location.reload();
  });
}
