// Adds and removes passkeys, with the plugin's own routes: options from /auth/webauthn-options, the browser's answer to /auth/callback.

async function fetchOptions() {
  const response = await fetch("/auth/webauthn-options/passkey?action=register");
  const { options, error } = await response.json();
  if (!response.ok) throw new Error(error);
  return options;
}

async function send(credential) { // JSON.stringify() calls credential.toJSON()
  const result = await fetch("/auth/callback/passkey", {
    method: "POST",
    headers: { "content-type": "application/json", "x-auth-return-redirect": "1" },
    body: JSON.stringify({ action: "register", data: JSON.stringify(credential), callbackUrl: "/passkeys" }),
  });
  const { url } = await result.json();
  location.assign(url);
}

/** What browsers call the ways in which it can go wrong before anything is sent. */
const PROBLEMS = {
  NotAllowedError: "No passkey was added. Try again.",
  InvalidStateError: "This device has a passkey of yours already.",
};

const isAddress = /^(?:\[.*\]|[\d.]+)$/.test(location.hostname);

function whyNot() {
  if (isAddress) return `Passkeys belong to a name: open http://localhost:${location.port} instead.`;
  return globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON ? "" : "This browser has no passkeys.";
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  const status = form.querySelector("[role=status]");
  if (whyNot()) {
    status.textContent = whyNot();
    continue;
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    status.textContent = "Your browser is asking you.";
    try {
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(await fetchOptions());
      await send(await navigator.credentials.create({ publicKey }));
    } catch (error) {
      status.textContent = PROBLEMS[error.name] ?? error.message;
    }
  });
  form.querySelector("button").disabled = false;
}

for (const button of document.querySelectorAll("[data-remove]")) {
  button.disabled = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    await fetch(`/passkeys?id=${encodeURIComponent(button.dataset.remove)}`, { method: "DELETE" });
    location.reload();
  });
}
