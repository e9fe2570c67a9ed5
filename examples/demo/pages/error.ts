import { type Html, html } from "./html.ts";
import { layout, type View } from "./layout.ts";

/** The page for an address that there is nothing at. */
export function notFoundPage(view: View): Html {
  return layout(
    view,
    "There is nothing here",
    html`
      <section class="panel narrow centred">
        <h1>There is nothing here</h1>
        <p>Perhaps the address has a slip in it.</p>
        <p class="actions"><a class="button" href="/">Home</a></p>
      </section>
    `,
  );
}
