/** The page that offers to add a passkey after another sign-in. */
import { html } from "@remix-run/html-template";
import { attributes, fragment, hiddenFields } from "./form.ts";
import { icon } from "./icon.ts";
import { passkeyAttributes, passkeyScript, passkeyStatus } from "./signin.ts";
import type { AddPasskeyPage, PageContent, PageView } from "./types.ts";

/** Adds a passkey, or goes on without. The script goes on if the browser has none. */
export function addPasskeyPage(
  { provider, csrfToken, callbackUrl }: AddPasskeyPage,
  view: PageView,
): PageContent {
  const { texts } = view.language;
  const title = texts["addPasskey.title"];
  const form = {
    method: "post",
    action: `${view.mountPath}/callback/${provider.id}`,
    "data-offer": callbackUrl ?? "/",
    ...passkeyAttributes({ provider: { ...provider, conditional: false } }, view),
  };
  const content = fragment`${
    hiddenFields({ csrfToken, callbackUrl })
  }<button class="button primary" type="submit" name="action" value="register" disabled>${
    texts["addPasskey.button"]
  }</button>${passkeyStatus(view)}`;
  return {
    title,
    head: passkeyScript([provider], view),
    main: html`
      ${icon("confirm")}
      <h1>${title}</h1>
      <p class="text">${texts["addPasskey.text"]}</p>
      ${fragment`<form${attributes(form)}>${content}</form>`}
      <a class="button" href="${callbackUrl ?? "/"}">${texts["addPasskey.later"]}</a>
    `,
  };
}
