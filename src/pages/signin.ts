/** The sign-in page. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { signInLabel } from "./labels.ts";
import { providerLogo } from "./logo.ts";
import type { PageError } from "./page_error.ts";
import { attributes, fragment, postForm, submitButton, waitText } from "./parts.ts";
import { fieldsOf, type SignInForm, toSignInForms } from "./signin_fields.ts";
import { fill } from "./texts/texts.ts";
import type { PageContent, PageView, ProviderView, SignInPage } from "./types.ts";

/** What is no failure. */
const NOTICES: ReadonlySet<PageError | undefined> = new Set(["SessionRequired"]);

/** The errors of a form, by the type of its provider. */
const OF_FORM: Partial<Record<PageError, string>> = {
  CredentialsSignin: "credentials",
  EmailCreateAccount: "email",
  EmailSignin: "email",
};

export function signInPage(page: SignInPage, view: PageView): PageContent {
  const { texts } = view.language;
  const { title, text } = headingOf(page, view);
  const failed = failedForm(page);
  const signUp = page.kind === "signIn" ? view.look.links?.signUp : undefined;
  const notice = page.error && noticeOf(page.error, page, view);
  return {
    title,
    head: passkeyScript(page.providers, view),
    main: html`<h1>${title}</h1>
<p class="site">${text}</p>
${failed === undefined ? notice : null}
${page.providers.length === 0 ? html`<p>${texts["signIn.none"]}</p>` : methods(page, { failed, notice }, view)}
${signUp && html`<p class="sign-up"><a href="${signUp}">${texts["link.signUp"]}</a></p>`}`,
  };
}

function headingOf({ kind, name }: SignInPage, { language: { texts }, site }: PageView) {
  if (kind === "signIn") return { title: texts["signIn.title"], text: fill(texts["signIn.site"], { site }) };
  const text = name === undefined ? texts["stepUp.text"] : fill(texts["stepUp.textAs"], { name });
  return { title: texts["stepUp.title"], text };
}

/** The id of the provider whose form failed, and that shows it. */
function failedForm({ error, failed, providers }: SignInPage): string | undefined {
  if (error === undefined || NOTICES.has(error)) return undefined;
  const withFields = providers.filter((each) => !isButton(each) && each.type !== "webauthn");
  if (failed !== undefined) return withFields.find(({ id }) => id === failed)?.id;
  const ofType = withFields.filter(({ type }) => type === OF_FORM[error]);
  return ofType.length === 1 ? ofType[0]!.id : undefined;
}

function noticeOf(error: PageError, page: SignInPage, { language }: PageView): SafeHtml {
  const text = language.texts[`error.${error}.text`];
  if (NOTICES.has(error)) return html`<p class="notice">${text}</p>`;
  if (page.when !== undefined) {
    const title = language.texts["error.TooManyRequests.title"];
    return html`<p class="alert" role="alert"><strong>${title}</strong><br>${waitText(page, language.texts)}</p>`;
  }
  return html`<p class="alert" role="alert">${text}</p>`;
}

type Failure = Readonly<{ failed: string | undefined; notice: SafeHtml | undefined }>;

/** Buttons for authorization servers that are always shown; the others fold. */
const MOST_BUTTONS = 4;

/** The buttons are one group, and each form is one. The first provider's group comes first. */
function methods(page: SignInPage, failure: Failure, view: PageView): SafeHtml {
  const forms = toSignInForms(page.providers);
  const main = forms.find(({ provider }) => !isButton(provider))?.provider.id;
  const formOf = (form: SignInForm) => signInForm(form, form.provider.id === main, page, failure, view);
  const buttons = forms.filter(({ provider }) => isButton(provider));
  const foldable = buttons.filter(({ provider }) => provider.type !== "webauthn").slice(MOST_BUTTONS)
    .filter(({ provider }) => provider.id !== page.lastUsed);
  const shown = buttons.filter((form) => !foldable.includes(form));
  const more = foldable.length === 0 ? null : html`
    <details class="more">
      <summary class="button">${view.language.texts["signIn.more"]}</summary>
      <div class="buttons">${foldable.map(formOf)}</div>
    </details>
  `;
  const groups = forms.filter(({ provider }) => !isButton(provider)).map(formOf);
  if (buttons.length > 0) {
    const group = html`<div class="buttons">${shown.map(formOf)}${more}</div>`;
    groups.splice(isButton(forms[0]!.provider) ? 0 : 1, 0, group);
  }
  // The script has the buttons do as it says: each of their forms is another one.
  const choice = main === undefined && buttons.length > 0 ? rememberMe("providers", page, view) : null;
  const divider = html`<p class="or"><span>${view.language.texts["signIn.or"]}</span></p>`;
  return html`${groups.flatMap((group, index) => index === 0 ? [group] : [divider, group])}${
    choice && html`<div data-choice hidden>${choice}</div>`
  }`;
}

/** The check box by which users choose to be remembered. Without it a browser sends the hidden field alone. */
function rememberMe(form: string, { kind, rememberMe }: SignInPage, { look, language }: PageView) {
  if (kind !== "signIn" || !look.rememberMe) return null;
  const id = `${form}-remember-me`;
  const input = { type: "checkbox", id, name: "rememberMe", value: "true", checked: rememberMe !== "false" };
  const label = fragment`<label for="${id}">${language.texts["signIn.rememberMe"]}</label>`;
  return fragment`<div class="field check"><input${attributes(input)}>${label}</div>`;
}

/** Whether a provider needs nothing but a click. */
function isButton({ fields }: ProviderView): boolean {
  return fields.every(({ attributes }) => attributes.type === "hidden");
}

/** The form of one provider, on another page. */
export function beginAgain(
  provider: ProviderView,
  flow: Pick<SignInPage, "csrfToken" | "callbackUrl" | "email">,
  view: PageView,
): Pick<PageContent, "head" | "main"> {
  const page = { ...flow, kind: "signIn", providers: [provider] } as const;
  const main = signInForm({ provider }, true, page, { failed: undefined, notice: undefined }, view);
  return { head: passkeyScript([provider], view), main };
}

function signInForm(form: SignInForm, main: boolean, page: SignInPage, { failed, notice }: Failure, view: PageView) {
  const { provider, mail } = form;
  const { id, brand, type } = provider;
  const { csrfToken, callbackUrl } = page;
  const choice = isButton(provider) ? null : rememberMe(id, page, view);
  const { texts } = view.language;
  const label = (of: ProviderView) => {
    const last = of.id === page.lastUsed ? html`<small class="last-used">${texts["signIn.lastUsed"]}</small>` : null;
    return fragment`<span>${signInLabel(of, texts)}</span>${last}`;
  };
  const mark = isButton(provider) && !main ? providerLogo(provider, view) : null;
  const content = [
    ...fieldsOf(form, page, { failed, notice }, view),
    // The provider's fields may have a choice of their own.
    provider.fields.some(({ name }) => name === "rememberMe") ? null : choice,
    submitButton(fragment`${mark}${label(provider)}`, {
      primary: main,
      // The script enables it, or disables it for that long.
      disabled: type === "webauthn",
      "data-waits": failed === id && page.when !== undefined,
    }),
    // Registers a passkey for a new user. The script enables it.
    provider.registers && page.kind === "signIn"
      ? submitButton(fragment`<span>${texts["passkey.register"]}</span>`, REGISTER)
      : null,
    // Mails a link to the address of a form that asks for a password, too.
    mail && submitButton(label(mail), { formaction: addressOf(mail, view), formnovalidate: true }),
    type === "webauthn" ? passkeyStatus(view) : null,
  ];
  const hidden = { csrfToken, callbackUrl, asked: page.asked, rememberMe: choice ? "false" : undefined };
  return postForm(addressOf(provider, view, page.authorization), hidden, content, {
    "data-brand": brand,
    ...(type === "webauthn" && passkeyAttributes(form, view)),
  });
}

const REGISTER = { name: "action", value: "register", disabled: true };

/** Passwords and authenticators' responses go to the callback. */
function addressOf({ id, type }: ProviderView, { mountPath }: PageView, authorization?: string): string {
  const action = type === "credentials" || type === "webauthn" ? "callback" : "signin";
  const query = authorization && (type === "oauth" || type === "oidc") ? `?${authorization}` : "";
  return `${mountPath}/${action}/${id}${query}`;
}

export function passkeyAttributes({ provider, sharedField }: SignInForm, { mountPath, language }: PageView) {
  const { texts } = language;
  return {
    "data-passkey": `${mountPath}/webauthn-options/${provider.id}`,
    "data-conditional": provider.conditional,
    "data-identifier": sharedField,
    "data-waiting": texts["passkey.waiting"],
    "data-cancelled": texts["passkey.cancelled"],
    "data-exists": texts["passkey.exists"],
    "data-failed": texts["passkey.failed"],
    "data-unsupported": texts["passkey.unsupported"],
  };
}

export function passkeyStatus({ language }: PageView): SafeHtml {
  return html`
    <p class="status" role="status"></p>
    <noscript><p class="hint">${language.texts["passkey.script"]}</p></noscript>
  `;
}

export function passkeyScript(providers: readonly ProviderView[], { assets, nonce }: PageView): SafeHtml | undefined {
  if (!providers.some(({ type }) => type === "webauthn")) return undefined;
  const script = { src: assets.address("passkey.js"), nonce: nonce.script, defer: true };
  return fragment`<script${attributes(script)}></script>`;
}
