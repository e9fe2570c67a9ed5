/**
 * The stylesheet of the pages. Its custom properties `--auth-…` are public: an application sets them in the
 * stylesheet of `pages.style`.
 */
/** The colours of a scheme, once for each way to choose it. */
const LIGHT = `color-scheme: light;
  --auth-background: #f6f5f3;
  --auth-card: #ffffff;
  --auth-text: #1d1b20;
  --auth-muted: #625e68;
  --auth-border: #dcd9e0;
  --auth-control: #8b8691;
  --auth-hover: #f5f3f7;
  --auth-alert: #9c1c33;
  --auth-alert-background: #fdeef0;
  --auth-shadow: 0 1px 2px rgb(29 27 32 / 6%), 0 18px 40px -22px rgb(29 27 32 / 22%);`;

const DARK = `color-scheme: dark;
  --auth-background: #121116;
  --auth-card: #1c1a21;
  --auth-text: #f1eff4;
  --auth-muted: #aca7b5;
  --auth-border: #37343f;
  --auth-control: #77717f;
  --auth-hover: #26232c;
  --auth-alert: #ffb3bd;
  --auth-alert-background: #3b1c23;
  --auth-shadow: 0 1px 2px rgb(0 0 0 / 40%), 0 20px 44px -22px rgb(0 0 0 / 75%);`;

/** The stylesheet. */
export const STYLE = `:root {
  ${LIGHT}
  --auth-brand: #4338ca;
  --auth-brand-text: #ffffff;
  --auth-focus: #4338ca;
  --auth-radius: 10px;
  --auth-font: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", Arial, sans-serif;
}

@media (prefers-color-scheme: dark) {
  :root:not([data-color-scheme="light"]) {
    ${DARK}
    --auth-focus: #a5b4fc;
  }
}

:root[data-color-scheme="dark"] {
  ${DARK}
  --auth-focus: #a5b4fc;
}

*,
*::before,
*::after {
  box-sizing: border-box;
}

html {
  -webkit-text-size-adjust: 100%;
  text-size-adjust: 100%;
  background: var(--auth-background);
}

body {
  display: grid;
  place-items: center;
  min-height: 100vh;
  min-height: 100dvh;
  margin: 0;
  padding: 2rem 1rem;
  background: var(--auth-background);
  color: var(--auth-text);
  font: 1rem/1.5 var(--auth-font);
}

.card {
  width: 100%;
  max-width: 25rem;
  padding: 2.25rem 2rem 2.5rem;
  border: 1px solid var(--auth-border);
  border-radius: calc(var(--auth-radius) * 1.6);
  background: var(--auth-card);
  box-shadow: var(--auth-shadow);
  overflow-wrap: anywhere;
}

.card > :last-child {
  margin-block-end: 0;
}

.logo {
  display: block;
  max-width: 12rem;
  max-height: 3rem;
  margin: 0 auto 1.25rem;
}

h1 {
  margin: 0 0 0.5rem;
  font-size: 1.5rem;
  font-weight: 650;
  line-height: 1.25;
  letter-spacing: -0.015em;
  text-align: center;
  text-wrap: balance;
}

[dir="rtl"] h1 {
  letter-spacing: 0;
}

p {
  margin: 0 0 1rem;
}

.icon {
  display: grid;
  place-items: center;
  width: 3rem;
  height: 3rem;
  margin: 0 auto 1.125rem;
  border-radius: 50%;
  background: var(--auth-hover);
  color: var(--auth-muted);
}

[dir="rtl"] [data-page="signOut"] .icon {
  transform: scaleX(-1);
}

.site,
.text {
  margin-block-end: 1.75rem;
  color: var(--auth-muted);
  text-align: center;
  text-wrap: balance;
}

.hint,
.status {
  color: var(--auth-muted);
  font-size: 0.875rem;
  text-wrap: pretty;
}

.card > .hint {
  margin-block: 1.25rem;
  text-align: center;
}

.status,
form > noscript > .hint {
  margin: 0.625rem 0 0;
  text-align: center;
}

.status:empty {
  display: none;
}

.alert {
  margin-block-end: 1.5rem;
  padding: 0.75rem 1rem;
  border-inline-start: 3px solid currentcolor;
  border-radius: calc(var(--auth-radius) * 0.6);
  background: var(--auth-alert-background);
  color: var(--auth-alert);
  font-size: 0.9375rem;
}

.buttons {
  display: grid;
  gap: 0.625rem;
}

.button {
  display: flex;
  align-items: center;
  justify-content: center;
  gap: 0.75rem;
  width: 100%;
  min-height: 2.875rem;
  padding: 0.5rem 1rem;
  border: 1px solid var(--auth-border);
  border-radius: var(--auth-radius);
  background: var(--auth-card);
  color: var(--auth-text);
  font: inherit;
  font-size: 0.9375rem;
  font-weight: 500;
  line-height: 1.3;
  text-align: center;
  text-decoration: none;
  text-wrap: balance;
  cursor: pointer;
}

.button:has(.mark) {
  display: grid;
  grid-template-columns: 1.25rem 1fr 1.25rem;
}

.button + .button,
form + .button {
  margin-block-start: 0.625rem;
}

.button:hover {
  border-color: var(--auth-control);
  background: var(--auth-hover);
}

.primary {
  border-color: transparent;
  background: var(--auth-brand);
  color: var(--auth-brand-text);
  font-weight: 600;
}

.primary:hover {
  border-color: transparent;
  background: color-mix(in srgb, var(--auth-brand) 88%, black);
}

.button:disabled {
  cursor: progress;
}

:focus-visible {
  outline: 2px solid var(--auth-focus);
  outline-offset: 2px;
}

.mark {
  flex: none;
  width: 1.25rem;
  height: 1.25rem;
  color: var(--mark-light, currentcolor);
  fill: currentcolor;
}

@media (prefers-color-scheme: dark) {
  :root:not([data-color-scheme="light"]) .mark {
    color: var(--mark-dark, currentcolor);
  }
}

:root[data-color-scheme="dark"] .mark {
  color: var(--mark-dark, currentcolor);
}

.line {
  fill: none;
  stroke: currentcolor;
  stroke-width: 1.75;
  stroke-linecap: round;
  stroke-linejoin: round;
}

.tile {
  display: grid;
  place-items: center;
  border-radius: 5px;
  background: var(--auth-text);
  color: var(--auth-card);
  font-size: 0.75rem;
  font-weight: 700;
  line-height: 1;
}

:root .tile.tile {
  color: var(--auth-card);
}

.or {
  display: flex;
  align-items: center;
  gap: 0.875rem;
  margin: 1.375rem 0;
  color: var(--auth-muted);
  font-size: 0.875rem;
}

.or::before,
.or::after {
  flex: 1;
  height: 1px;
  background: var(--auth-border);
  content: "";
}

.field {
  margin-block-end: 1rem;
}

label {
  display: block;
  margin-block-end: 0.3125rem;
  font-size: 0.9375rem;
  font-weight: 500;
}

input {
  width: 100%;
  min-height: 2.875rem;
  padding: 0.5rem 0.875rem;
  border: 1px solid var(--auth-control);
  border-radius: var(--auth-radius);
  background: var(--auth-card);
  color: inherit;
  font: inherit;
}

input::placeholder {
  color: var(--auth-muted);
  opacity: 1;
}

input:focus-visible {
  outline-offset: -1px;
}

.check {
  display: flex;
  align-items: center;
  gap: 0.625rem;
}

.check label {
  margin: 0;
}

input[type="checkbox"] {
  width: 1.125rem;
  min-height: 1.125rem;
  accent-color: var(--auth-brand);
}

@media (min-width: 36rem) {
  .card:has(.many) {
    max-width: 36rem;
  }

  .many {
    grid-template-columns: 1fr 1fr;
  }

  .many .button {
    grid-template-columns: 1.25rem 1fr;
    height: 100%;
    text-align: start;
  }
}

@media (max-width: 26rem) {
  body {
    padding: 1rem 0.75rem;
  }

  .card {
    padding: 1.75rem 1.25rem 2rem;
  }
}

/* A phone with text of twice the size. */
@media (max-width: 18rem) {
  body {
    padding: 0.5rem 0.25rem;
  }

  .card {
    padding: 1.25rem 0.75rem 1.5rem;
  }

  .button {
    gap: 0.5rem;
    padding-inline: 0.5rem;
  }

  .button:has(.mark) {
    grid-template-columns: 1.25rem 1fr;
  }
}

@media (prefers-reduced-motion: no-preference) {
  .button {
    transition: background-color 120ms, border-color 120ms;
  }

  [data-page="redirect"] .card {
    animation: appear 200ms 400ms backwards;
  }

  @keyframes appear {
    from {
      opacity: 0;
    }
  }
}

@media (forced-colors: active) {
  .button,
  .alert {
    border: 1px solid;
  }
}
`;
