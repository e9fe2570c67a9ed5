/** The forms of the sign-in page, and their fields. */
import { html, type SafeHtml } from "@remix-run/html-template";
import { fieldLabel, isAddress, isIdentifier } from "./labels.ts";
import { labelledField } from "./parts.ts";
import type { FieldView, PageView, ProviderView, SignInPage } from "./types.ts";

export interface SignInForm {
  readonly provider: ProviderView;
  /** The provider that mails a link to the address of the form, with a button of its own. */
  readonly mail?: ProviderView | undefined;
  /** The id of the field of another form that has the address. */
  readonly sharedField?: string | undefined;
}

function isPassword({ attributes }: FieldView): boolean {
  return attributes.type === "password";
}

/**
 * A form for each provider. A password, a mailed link and a passkey have one field together for who signs in: that of
 * the password, for an address or a user name.
 */
export function toSignInForms(providers: readonly ProviderView[]): readonly SignInForm[] {
  const mail = providers.find(({ type }) => type === "email");
  const password = providers.find(({ type, fields }) => type === "credentials" && identifierIn(fields) >= 0);
  const shared = password ?? mail;
  const sharedField = shared && idOf(shared, identifierIn(shared.fields));
  return providers.filter((each) => each !== mail || password === undefined).map((provider) => {
    if (provider === password) return { provider, mail };
    const asksOnlyFor = provider.fields.every(({ name }) => name === "email");
    if (provider.type !== "webauthn" || sharedField === undefined || !asksOnlyFor) return { provider };
    // Its script fills it in.
    const fields = provider.fields.map(({ name }) => ({ name, attributes: { type: "hidden" } }));
    return { provider: { ...provider, fields }, sharedField: fields.length > 0 ? sharedField : undefined };
  });
}

/** The field for an address, else that for a user name. */
function identifierIn(fields: readonly FieldView[]): number {
  const address = fields.findIndex(({ name }) => name === "email");
  return address >= 0 ? address : fields.findIndex(({ name }) => name === "username");
}

function idOf({ id }: ProviderView, index: number): string {
  return `${id}-${index}`;
}

export function fieldsOf(
  { provider, mail }: SignInForm,
  page: SignInPage,
  { failed, notice }: { failed: string | undefined; notice: SafeHtml | undefined },
  { language, look }: PageView,
): SafeHtml[] {
  const passkeys = page.providers.some(({ conditional }) => conditional);
  const isOfMail = mail !== undefined && failed === mail.id;
  const hasFailed = failed !== undefined && (isOfMail || failed === provider.id);
  const shown = provider.fields.filter(({ attributes: { type } }) => type !== "hidden" && type !== "checkbox");
  const blamed = isOfMail ? shown.filter(isIdentifier) : shown;
  const kept = hasFailed ? page.identifier : undefined;
  const next = blamed.find((field) => !(kept && isIdentifier(field))) ?? blamed[0];
  const forgotPassword = look.links?.forgotPassword;
  const forgotten = forgotPassword &&
    html`<p class="forgotten"><a href="${forgotPassword}">${language.texts["link.forgotPassword"]}</a></p>`;
  const errorId = `${provider.id}-error`;
  const { texts } = language;
  return provider.fields.map((field, index) => {
    const isUser = isIdentifier(field);
    const isBlamed = hasFailed && blamed.includes(field);
    const takesAddress = isAddress(field) || (mail !== undefined && index === identifierIn(provider.fields));
    const value = (isUser ? kept : undefined) || (takesAddress ? page.email : undefined);
    const kind = passkeys || shown.some(isPassword) || !isAddress(field) ? "username" : "email";
    const attributes = {
      // What browsers and password managers need to know, if the application does not say it.
      ...(isUser && { autocapitalize: "none", spellcheck: "false", dir: "ltr" }),
      ...(isUser && { autocomplete: `${kind}${passkeys ? " webauthn" : ""}` }),
      ...(isPassword(field) && { autocomplete: "current-password" }),
      ...field.attributes,
      ...(value && { value }),
      ...(isBlamed && {
        "aria-describedby": errorId,
        // What comes too early is not wrong.
        "aria-invalid": page.when === undefined && "true",
        ...(field === next && { autofocus: true }),
      }),
    };
    const message = isBlamed && field === blamed.at(-1) ? html`<div id="${errorId}">${notice}</div>` : null;
    const label = takesAddress && !isAddress(field) && field.label === undefined
      ? texts["field.identifier"]
      : fieldLabel(field, texts);
    return labelledField({ name: field.name, attributes }, label, idOf(provider, index), {
      message: html`${message}${isPassword(field) ? forgotten : null}`,
      texts,
    });
  });
}
