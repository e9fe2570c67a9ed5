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

  /** When the passkeys were offered that the fields show now; `Infinity` while there is a dialogue. */
  let offered;

  /** Milliseconds: what a browser ends sooner was not ended by its user, and would end again. */
  const SOON = 1000;

  /** Milliseconds after which an offer gets a new challenge. The server takes one for 15 minutes. */
  const RENEWED_AFTER = 10 * 60_000;

  for (const form of document.querySelectorAll("form[data-passkey]")) setUp(form);

  function setUp(form) {
    if (!browserSupportsWebAuthn()) {
      return form.dataset.offer ? location.replace(form.dataset.offer) : tell(form, "unsupported");
    }
    const shared = document.getElementById(form.dataset.identifier);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const { submitter } = event;
      const registers = submitter?.value === "register";
      if (shared && registers && !shared.reportValidity()) return;
      if (shared) form.elements.email.value = shared.value;
      use(form, registers ? "register" : "authenticate");
    });
    if ("conditional" in form.dataset) setUpOffers(form);
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }

  /** Passkeys are offered once a field is used, and with a new challenge before the server takes the old one no more. */
  function setUpOffers(form) {
    const start = () => offered === undefined && offer(form);
    for (const field of document.querySelectorAll("input[autocomplete$='webauthn']")) {
      for (const type of ["focus", "pointerover"]) field.addEventListener(type, start);
      if (field === document.activeElement) start();
    }
    // The dialogue of a passkey that was picked has the focus.
    const renew = () => document.hasFocus() && offered < Date.now() - RENEWED_AFTER && offer(form);
    setInterval(renew, 30_000);
    addEventListener("focus", renew);
  }

  /** Ends the attempt before. */
  function begin() {
    if (attempt) {
      attempt.abort();
      WebAuthnAbortService.cancelCeremony();
    }
    offered = undefined;
    attempt = new AbortController();
    return attempt.signal;
  }

  async function use(form, action) {
    const wasOffered = offered;
    const signal = begin();
    offered = Infinity;
    for (const other of document.querySelectorAll("form[data-passkey]")) tell(other, "");
    tell(form, "waiting");
    try {
      const { options } = await fetchOptions(form, [...new FormData(form), ["action", action]], signal);
      const start = action === "register" ? startRegistration : startAuthentication;
      send(form, action, options, await start({ optionsJSON: options }));
    } catch (error) {
      if (signal.aborted) return;
      offered = undefined;
      tell(form, REASONS[error.name] ?? "failed");
      // The dialogue has ended what was offered.
      if (wasOffered && error.name in REASONS) offer(document.querySelector("form[data-conditional]"));
    }
  }

  /** Offers passkeys in the fields of the page (conditional UI). Waits for the options only. */
  async function offer(form) {
    const signal = begin();
    offered = Date.now();
    try {
      // Meanwhile the user may have clicked.
      if (!await browserSupportsWebAuthnAutofill() || signal.aborted) return;
      const { options } = await fetchOptions(form, [["action", "authenticate"]], signal);
      const began = performance.now();
      startAuthentication({ optionsJSON: options, useBrowserAutofill: true }).then(
        (credential) => send(form, "authenticate", options, credential),
        (error) => {
          if (signal.aborted || error.name === "AbortError") return;
          console.warn(error);
          offered = undefined;
          // The user dismissed the dialogue of a passkey that was picked.
          if (error.name in REASONS && performance.now() - began > SOON) offer(form);
        },
      );
    } catch (error) {
      if (signal.aborted) return;
      console.warn(error);
      offered = undefined;
    }
  }

  async function fetchOptions(form, fields, signal) {
    const query = new URLSearchParams(fields);
    for (const name of ["csrfToken", "callbackUrl", "rememberMe"]) query.delete(name);
    const response = await fetch(`${form.dataset.passkey}?${query}`, { signal });
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    return await response.json();
  }

  function send(form, action, { rpId }, credential) {
    for (const [name, value] of [["action", action], ["data", JSON.stringify(credential)]]) {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name, value });
      form.append(input);
    }
    // The page of the answer says whether it is known.
    sessionStorage.setItem("fastify-authjs.passkey", JSON.stringify({ rpId, credentialId: credential.id }));
    form.submit();
  }

  function tell(form, what) {
    form.querySelector("[role=status]").textContent = form.dataset[what] ?? "";
  }
})();
