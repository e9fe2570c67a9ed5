/** The pages that say one thing each. */
import { html, type SafeHtml } from "@remix-run/html-template";
import type { PageError } from "./page_error.ts";
import type { Drawing } from "./parts.ts";
import { drawing, fragment, labelledField, linkButton, postForm, submitButton, waitText } from "./parts.ts";
import { beginAgain, passkeyAttributes, passkeyScript, passkeyStatus } from "./signin.ts";
import { fill } from "./texts/texts.ts";
import type { PageContent, PageOf, PageView } from "./types.ts";

/** A title with a drawing above it, a text, and what the user can do. */
function message(icon: Drawing, title: string, text: string | SafeHtml, actions: SafeHtml): PageContent {
  const main = html`<p class="icon" aria-hidden="true">${drawing(icon, 24)}</p>
<h1>${title}</h1>
${text === "" ? null : html`<p class="text">${text}</p>`}
${actions}`;
  return { title, main };
}

/** Adds a passkey after another sign-in, or goes on without. The script goes on if the browser has none. */
export function addPasskeyPage({ provider, csrfToken, callbackUrl }: PageOf<"addPasskey">, view: PageView) {
  const { texts } = view.language;
  const register = { primary: true, name: "action", value: "register", disabled: true };
  const form = postForm(
    `${view.mountPath}/callback/${provider.id}`,
    { csrfToken, callbackUrl },
    fragment`${submitButton(texts["addPasskey.button"], register)}${passkeyStatus(view)}`,
    { "data-offer": callbackUrl ?? "/", ...passkeyAttributes({ provider: { ...provider, conditional: false } }, view) },
  );
  return {
    ...message(
      "confirm",
      texts["addPasskey.title"],
      texts["addPasskey.text"],
      html`${form}${linkButton(callbackUrl ?? "/", texts["addPasskey.later"])}`,
    ),
    head: passkeyScript([provider], view),
  };
}

/** Confirms the sign-in of a mailed link with a POST: by a click or, if it is `automatic`, by a script. */
export function confirmPage({ action, fields, email, automatic }: PageOf<"confirm">, view: PageView): PageContent {
  const { texts } = view.language;
  const text = email === undefined
    ? fill(texts["confirm.text"], { site: view.site })
    : fill(texts["confirm.textAs"], { site: view.site, email });
  const button = submitButton(texts["confirm.button"], { primary: true });
  const form = postForm(action, fields, button, { id: "confirm", "data-automatic": String(automatic) });
  return {
    ...message("confirm", texts["confirm.title"], text, html`${form}<p class="hint">${texts["confirm.hint"]}</p>`),
    // The address has the token of the link, which stays out of `Referer`. Not "no-referrer", with which the
    // form would send `Origin: null`.
    head: html`<meta name="referrer" content="strict-origin">`,
  };
}

/** Errors that another try does not help with. */
const FINAL: ReadonlySet<PageError> = new Set(["NotFound", "SessionTooLarge"]);

/** What happened, what to do next, and links to go on. */
export function errorPage(
  { error, callbackUrl = "/", signInUrl, again, csrfToken, email, ...wait }: PageOf<"error">,
  view: PageView,
): PageContent {
  const { language: { texts }, mountPath, site } = view;
  const address = signInUrl ?? `${mountPath}/signin`;
  const form = again && beginAgain(again, { csrfToken, callbackUrl, email }, view);
  const signIn = form === undefined
    ? linkButton(address, texts["error.signIn"], true)
    : html`${form.main}${linkButton(address, texts["verifyRequest.back"])}`;
  const onward = linkButton(callbackUrl, fill(texts["error.continue"], { site }));
  return {
    ...message(
      "error",
      texts[`error.${error}.title`],
      wait.when === undefined ? texts[`error.${error}.text`] : waitText(wait, texts),
      html`${FINAL.has(error) ? null : signIn}${onward}`,
    ),
    head: form?.head,
  };
}

/** Takes the browser on, by itself and with a link. */
export function redirectPage({ url, to }: PageOf<"redirect">, { language: { texts } }: PageView): PageContent {
  const title = fill(texts["redirect.title"], { provider: to });
  return {
    title,
    head: html`<meta http-equiv="refresh" content="0;url=${url}">`,
    main: html`<h1>${title}</h1>
${linkButton(url, texts["redirect.link"], true)}`,
  };
}

/** Continues, or switches the account: signed in, another one would be linked to the user. */
export function signedInPage(
  { name, csrfToken, callbackUrl, returnUrl }: PageOf<"signedIn">,
  { language: { texts }, mountPath, site }: PageView,
): PageContent {
  const title = name === undefined ? texts["signedIn.title"] : fill(texts["signedIn.titleAs"], { name });
  const onward = linkButton(callbackUrl ?? "/", fill(texts["error.continue"], { site }), true);
  const button = submitButton(texts["signedIn.switch"]);
  const form = postForm(`${mountPath}/signout`, { csrfToken, callbackUrl: returnUrl }, button);
  return message("confirm", title, "", html`${onward}${form}`);
}

export function signOutPage(
  { csrfToken, callbackUrl, returnUrl }: PageOf<"signOut">,
  { language: { texts }, mountPath, site }: PageView,
): PageContent {
  const button = submitButton(texts["signOut.button"], { primary: true });
  const form = postForm(`${mountPath}/signout`, { csrfToken, callbackUrl: returnUrl }, button);
  const cancel = linkButton(callbackUrl ?? "/", texts["signOut.cancel"]);
  return message("signOut", texts["signOut.title"], fill(texts["signOut.question"], { site }), html`${form}${cancel}`);
}

export function signedOutPage(_page: unknown, { language: { texts }, mountPath, site }: PageView): PageContent {
  const signIn = linkButton(`${mountPath}/signin`, texts["error.signIn"], true);
  const onward = linkButton("/", fill(texts["error.continue"], { site }));
  return message(
    "signOut",
    texts["signedOut.title"],
    fill(texts["signedOut.text"], { site }),
    html`${signIn}${onward}`,
  );
}

const CODE_FIELD = {
  autocomplete: "one-time-code",
  autofocus: true,
  dir: "ltr",
  inputmode: "numeric",
  maxlength: "20",
  required: true,
} as const;

/** Says that a sign-in link was mailed, and takes the code of the mail in the browser that asked. */
export function verifyRequestPage(
  { action, csrfToken, error }: PageOf<"verifyRequest">,
  { language: { texts }, mountPath, site }: PageView,
): PageContent {
  const notice = error && html`<p class="alert" role="alert">${texts[`error.${error}`]}</p>`;
  const failed = error && { "aria-describedby": "code-error", "aria-invalid": "true" };
  const field = labelledField(
    { name: "code", attributes: { ...CODE_FIELD, ...failed } },
    texts["field.code"],
    "code",
    { message: html`<div id="code-error">${notice}</div>`, texts },
  );
  const button = submitButton(texts["signIn.credentials"], { primary: true });
  return message(
    "mail",
    texts["verifyRequest.title"],
    fill(texts[action === undefined ? "verifyRequest.text" : "verifyRequest.codeText"], { site }),
    html`${action === undefined ? notice : postForm(action, { csrfToken }, fragment`${field}${button}`)}
<p class="hint">${texts["verifyRequest.hint"]}</p>
${linkButton(`${mountPath}/signin`, texts["verifyRequest.back"])}`,
  );
}
