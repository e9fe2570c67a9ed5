/** The sign-in page. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { attributes, fragment, hiddenFields, labelledField } from "./form.ts";
import { fieldLabel, signInLabel } from "./labels.ts";
import { providerLogo } from "./logo.ts";
import { fill } from "./texts/texts.ts";
import type { FieldView, PageContent, PageView, ProviderView, SignInPage } from "./types.ts";

/** The sign-in page: a button or a form for each provider. */
export function signInPage(page: SignInPage, view: PageView): PageContent {
  const { texts } = view.language;
  const title = texts["signIn.title"];
  return {
    title,
    head: passkeyScript(page, view),
    main: html`<h1>${title}</h1>
<p class="site">${fill(texts["signIn.site"], { site: view.site })}</p>
${page.error && html`<p class="alert" role="alert">${texts[`error.${page.error}.text`]}</p>`}
${page.providers.length === 0 ? html`<p>${texts["signIn.none"]}</p>` : methods(page, view)}`,
  };
}

/** The buttons are one group, and each form is one. The first provider's group comes first. */
function methods(page: SignInPage, view: PageView): SafeHtml {
  const [buttons, forms] = [
    page.providers.filter(isButton),
    page.providers.filter((each) => !isButton(each)),
  ];
  const formOf = (provider: ProviderView) => signInForm(provider, page, view);
  const buttonGroup = html`<div class="${buttons.length > 4 ? "buttons many" : "buttons"}">${
    buttons.map(formOf)
  }</div>`;
  const groups = forms.map(formOf);
  if (buttons.length > 0) groups.splice(isButton(page.providers[0]!) ? 0 : 1, 0, buttonGroup);
  const divider = html`<p class="or"><span>${view.language.texts["signIn.or"]}</span></p>`;
  return html`${groups.flatMap((group, index) => index === 0 ? [group] : [divider, group])}`;
}

/** Whether a provider needs nothing but a click. */
function isButton({ fields }: ProviderView): boolean {
  return fields.every(({ attributes }) => attributes.type === "hidden");
}

function signInForm(provider: ProviderView, page: SignInPage, view: PageView): SafeHtml {
  const { texts } = view.language;
  const { id, brand, type, fields } = provider;
  const { csrfToken, callbackUrl } = page;
  // Passwords and authenticators' responses go to the callback.
  const action = type === "credentials" || type === "webauthn" ? "callback" : "signin";
  const passkeys = page.providers.some(({ conditional }) => conditional);
  const inputs = fields.map((field, index) => {
    const filled = completed(field, { email: page.email, passkeys });
    return labelledField(filled, fieldLabel(field, texts), `${id}-${index}`);
  });
  const form = {
    method: "post",
    action: `${view.mountPath}/${action}/${id}`,
    "data-brand": brand,
    ...(type === "webauthn" && passkeyAttributes(provider, view)),
  };
  const content = [
    ...hiddenFields({ csrfToken, callbackUrl }),
    ...inputs,
    submitButton(provider, provider === page.providers.find((each) => !isButton(each)), view),
    type === "webauthn" ? passkeyStatus(view) : null,
  ];
  return fragment`<form${attributes(form)}>${content}</form>`;
}

function submitButton(provider: ProviderView, first: boolean, view: PageView): SafeHtml {
  const alone = isButton(provider);
  const button = {
    class: first ? "button primary" : "button",
    type: "submit",
    // Its script enables it.
    disabled: provider.type === "webauthn" ? true as const : undefined,
  };
  const label = signInLabel(provider, view.language.texts);
  const mark = alone ? providerLogo(provider, view) : null;
  return fragment`<button${attributes(button)}>${mark}<span>${label}</span></button>`;
}

/** What browsers and password managers need to know of a field, if the application does not say it. */
function completed(
  field: FieldView,
  { email, passkeys }: { email: string | undefined; passkeys: boolean },
): FieldView {
  const { name, attributes } = field;
  const isEmail = name === "email" || attributes.type === "email";
  const isUser = isEmail || name === "username";
  const autocomplete = attributes.type === "password"
    ? "current-password"
    : isUser
    ? `${isEmail ? "email" : "username"}${passkeys ? " webauthn" : ""}`
    : undefined;
  return {
    ...field,
    attributes: {
      ...(isUser && { autocapitalize: "none", spellcheck: "false" }),
      ...(autocomplete !== undefined && { autocomplete }),
      ...attributes,
      ...(isEmail && email && { value: email }),
    },
  };
}

/** What the script needs to know of a passkey form. */
function passkeyAttributes({ id, conditional }: ProviderView, { mountPath, language }: PageView) {
  const { texts } = language;
  return {
    "data-passkey": `${mountPath}/webauthn-options/${id}`,
    "data-conditional": conditional ? true as const : undefined,
    "data-waiting": texts["passkey.waiting"],
    "data-cancelled": texts["passkey.cancelled"],
    "data-exists": texts["passkey.exists"],
    "data-failed": texts["passkey.failed"],
    "data-unsupported": texts["passkey.unsupported"],
  };
}

function passkeyStatus({ language }: PageView): SafeHtml {
  return html`
    <p class="status" role="status"></p>
    <noscript><p class="hint">${language.texts["passkey.script"]}</p></noscript>
  `;
}

function passkeyScript({ providers }: SignInPage, { assets, nonce }: PageView): SafeHtml | undefined {
  if (!providers.some(({ type }) => type === "webauthn")) return undefined;
  const script = { src: assets.address("passkey.js"), nonce: nonce.script, defer: true as const };
  return fragment`<script${attributes(script)}></script>`;
}
