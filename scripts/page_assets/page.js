// What the pages do besides what they do without a script.
(() => {
  "use strict";

  /** Sends a form once: a second click would use what is used up. */
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented) return;
    if (document.querySelector("form[aria-busy]")) return event.preventDefault();
    form.setAttribute("aria-busy", "true");
    (submitter ?? form.querySelector("[type=submit]"))?.classList.add("busy");
    for (const button of document.querySelectorAll("[type=submit]")) button.disabled = true;
    tell(document.querySelector(".progress"), true);
  });

  // Shown again from the memory of the browser.
  addEventListener("pageshow", ({ persisted }) => persisted && location.reload());

  // A passkey that this site does not know is offered no more.
  const passkey = sessionStorage.getItem("fastify-authjs.passkey");
  sessionStorage.removeItem("fastify-authjs.passkey");
  if (passkey && new URLSearchParams(location.search).get("code") === "unknown_passkey") {
    PublicKeyCredential.signalUnknownCredential?.(JSON.parse(passkey)).catch(console.warn);
  }

  for (const button of document.querySelectorAll(".reveal")) setUpPassword(button);
  const choice = document.querySelector("[type=checkbox][name=rememberMe]");
  if (choice) followChoice(choice);
  for (const timer of document.querySelectorAll("[data-seconds]")) countDown(timer);

  const automatic = document.querySelector("form[data-automatic=true]");
  if (automatic) {
    // A page that is rendered in advance waits until its user sees it.
    const send = () => automatic.requestSubmit();
    if (document.prerendering) document.addEventListener("prerenderingchange", send, { once: true });
    else send();
  }

  /** The forms without a check mark do as the first one says. */
  function followChoice(choice) {
    for (const box of document.querySelectorAll("[data-choice]")) box.hidden = false;
    const others = [...document.querySelectorAll("form[data-brand]")].filter((form) => !form.elements.rememberMe);
    const fields = others.map((form) => {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name: "rememberMe" });
      form.append(field);
      return field;
    });
    const follow = () => fields.forEach((field) => field.value = choice.checked);
    choice.addEventListener("change", follow);
    follow();
  }

  function setUpPassword(button) {
    const input = document.getElementById(button.getAttribute("aria-controls"));
    const hint = button.closest(".field").querySelector(".caps");
    button.hidden = false;
    button.addEventListener("click", () => {
      input.type = input.type === "password" ? "text" : "password";
      [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
      input.focus();
    });
    // Browsers offer to keep what is sent as a password.
    input.form.addEventListener("submit", () => input.type = "password");
    for (const type of ["keydown", "keyup"]) {
      input.addEventListener(type, (event) => tell(hint, event.getModifierState?.("CapsLock")));
    }
    input.addEventListener("blur", () => tell(hint, false));
  }

  function tell(status, shown) {
    status.textContent = shown ? status.dataset.text : "";
  }

  function countDown(timer) {
    const ends = Date.now() + timer.dataset.seconds * 1000;
    const words = new Intl.RelativeTimeFormat(document.documentElement.lang);
    const clock = document.createElement("bdi");
    clock.className = "clock";
    clock.setAttribute("aria-hidden", "true");
    timer.after(" ", clock);
    const waiting = document.querySelectorAll("[data-waits]");
    const wait = (waits) => waiting.forEach((button) => button.disabled = waits);
    const tick = () => {
      const left = Math.max(0, Math.ceil((ends - Date.now()) / 1000));
      const [size, unit] = left >= 3600 ? [3600, "hour"] : left >= 60 ? [60, "minute"] : [1, "second"];
      timer.textContent = timer.dataset.text.replace("{when}", words.format(Math.ceil(left / size), unit));
      clock.textContent = new Date(left * 1000).toISOString().slice(left < 3600 ? 14 : 11, 19);
      if (left > 0) return;
      clearInterval(interval);
      wait(false);
      timer.closest(".alert, .text").hidden = true;
    };
    const interval = setInterval(tick, 1000);
    wait(true);
    // Another account may sign in.
    waiting[0]?.form.addEventListener("input", ({ target }) => {
      if (target.autocomplete.startsWith("username") || target.type === "email") wait(false);
    });
    tick();
  }
})();
