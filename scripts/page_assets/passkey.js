// The passkey forms of the sign-in page. `SimpleWebAuthnBrowser` is the library before this script.
(() => {
  "use strict";
  const {
    startAuthentication,
    startRegistration,
    browserSupportsWebAuthn,
    browserSupportsWebAuthnAutofill,
    WebAuthnAbortService,
  } = globalThis.SimpleWebAuthnBrowser;

  /** The texts for errors by which browsers end a ceremony (WebAuthn sections 5.1.3 and 5.1.4). */
  const REASONS = { NotAllowedError: "cancelled", AbortError: "cancelled", InvalidStateError: "exists" };

  /** The latest attempt: the browser shows one dialogue, and keeps one challenge. */
  let attempt;

  for (const form of document.querySelectorAll("form[data-passkey]")) setUp(form);

  async function setUp(form) {
    if (!browserSupportsWebAuthn()) return tell(form, "unsupported");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      signIn(form);
    });
    // The browser keeps one challenge: options that arrive after a click would replace those of the click.
    if ("conditional" in form.dataset) await offer(form);
    form.querySelector("button").disabled = false;
  }

  async function signIn(form) {
    if (attempt) {
      attempt.abort();
      WebAuthnAbortService.cancelCeremony();
    }
    const { signal } = attempt = new AbortController();
    for (const other of document.querySelectorAll("form[data-passkey]")) tell(other, "");
    tell(form, "waiting");
    try {
      const { action, options } = await fetchOptions(form, new FormData(form), signal);
      send(form, action, await (action === "register" ? startRegistration : startAuthentication)(options));
    } catch (error) {
      if (!signal.aborted) tell(form, REASONS[error.name] ?? "failed");
    }
  }

  /** Offers passkeys in the fields of the page (conditional UI). Waits for the options only. */
  async function offer(form) {
    if (document.querySelector("input[autocomplete$='webauthn']") === null) return;
    try {
      if (!await browserSupportsWebAuthnAutofill()) return;
      const { options } = await fetchOptions(form, [["action", "authenticate"]]);
      startAuthentication(options, true).then(
        (credential) => send(form, "authenticate", credential),
        (error) => error.name !== "AbortError" && console.warn(error),
      );
    } catch (error) {
      console.warn(error);
    }
  }

  async function fetchOptions(form, fields, signal) {
    const query = new URLSearchParams(fields);
    for (const name of ["csrfToken", "callbackUrl"]) query.delete(name);
    const response = await fetch(`${form.dataset.passkey}?${query}`, { signal });
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return await response.json();
  }

  function send(form, action, credential) {
    for (const [name, value] of [["action", action], ["data", JSON.stringify(credential)]]) {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name, value });
      form.append(input);
    }
    form.submit();
  }

  function tell(form, what) {
    form.querySelector("[role=status]").textContent = form.dataset[what] ?? "";
  }
})();
