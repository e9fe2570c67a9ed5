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

  /** The latest attempt, or offer: the browser shows one dialogue. */
  let attempt;

  /** Milliseconds: what a browser ends sooner was not ended by its user, and would end again. */
  const SOON = 1000;

  for (const form of document.querySelectorAll("form[data-passkey]")) setUp(form);

  function setUp(form) {
    if (!browserSupportsWebAuthn()) return tell(form, "unsupported");
    const shared = document.getElementById(form.dataset.identifier);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (shared) form.elements.email.value = shared.value;
      signIn(form);
    });
    if ("conditional" in form.dataset) offer(form);
    form.querySelector("button").disabled = false;
  }

  /** Ends the attempt before. */
  function begin() {
    if (attempt) {
      attempt.abort();
      WebAuthnAbortService.cancelCeremony();
    }
    attempt = new AbortController();
    return attempt.signal;
  }

  async function signIn(form) {
    const signal = begin();
    for (const other of document.querySelectorAll("form[data-passkey]")) tell(other, "");
    tell(form, "waiting");
    try {
      const { action, options } = await fetchOptions(form, new FormData(form), signal);
      const start = action === "register" ? startRegistration : startAuthentication;
      send(form, action, await start({ optionsJSON: options }));
    } catch (error) {
      if (signal.aborted) return;
      tell(form, REASONS[error.name] ?? "failed");
      // The dialogue has ended what was offered.
      if (error.name in REASONS) offer(document.querySelector("form[data-conditional]"));
    }
  }

  /** Offers passkeys in the fields of the page (conditional UI). Waits for the options only. */
  async function offer(form) {
    if (!form || document.querySelector("input[autocomplete$='webauthn']") === null) return;
    const latest = attempt;
    // Meanwhile the user may have clicked.
    if (!await browserSupportsWebAuthnAutofill() || attempt !== latest) return;
    const signal = begin();
    try {
      const { options } = await fetchOptions(form, [["action", "authenticate"]], signal);
      const began = performance.now();
      startAuthentication({ optionsJSON: options, useBrowserAutofill: true }).then(
        (credential) => send(form, "authenticate", credential),
        (error) => {
          if (signal.aborted || error.name === "AbortError") return;
          console.warn(error);
          // The user dismissed the dialogue of a passkey that was picked.
          if (error.name in REASONS && performance.now() - began > SOON) offer(form);
        },
      );
    } catch (error) {
      if (!signal.aborted) console.warn(error);
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
