/** A page with two components that show the session, and a form that signs in. */
import { SessionProvider, SignedIn, SignedOut, useSession } from "fastify-authjs/react";
import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";

function Header() {
  const { status, session } = useSession();
  return h("h1", null, status === "signed-in" ? session.user.name : status);
}

function SignOut() {
  const { auth } = useSession();
  return h("button", { onClick: () => auth.signOut({ redirect: false }) }, "Sign out");
}

function SignIn() {
  const { auth } = useSession();
  const [error, setError] = useState("");
  return h(
    "form",
    { onSubmit: signIn },
    h("input", { name: "username", "aria-label": "User name" }),
    h("input", { name: "password", "aria-label": "Password", type: "password" }),
    h("button", null, "Sign in"),
    h("p", { role: "alert" }, error),
  );

  async function signIn(event) {
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(event.currentTarget));
    const result = await auth.signIn("credentials", { fields, redirect: false });
    setError(result.ok ? "" : result.error);
  }
}

createRoot(document.body).render(
  h(SessionProvider, null, h(Header), h(SignedIn, null, h(SignOut)), h(SignedOut, null, h(SignIn))),
);
