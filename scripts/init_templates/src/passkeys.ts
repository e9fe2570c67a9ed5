//? webauthn
import type { FastifyInstance } from "fastify";
import type { Auth } from "./auth.ts";

/** A page on which a signed-in user adds a passkey. */
export function addPasskeyPage(app: FastifyInstance, auth: Auth): void {
  app.get(
    "/passkeys",
    { onRequest: auth.requireSession() },
    (_request, reply) => reply.type("text/html").send(PAGE),
  );
}

const PAGE = `<!doctype html>
<html lang="en">
<title>Passkeys</title>
<button>Add a passkey</button>
<p role="status"></p>
<script type="module">
  async function add() {
    const url = "/auth/webauthn-options/{{passkey}}?action=register";
    const response = await fetch(url);
    const { options, error } = await response.json();
    if (!response.ok) throw new Error(error);
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    const data = JSON.stringify(await navigator.credentials.create({ publicKey }));
    const result = await fetch("/auth/callback/{{passkey}}", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-auth-return-redirect": "1",
      },
      body: JSON.stringify({ action: "register", data, callbackUrl: "/" }),
    });
    location.assign((await result.json()).url);
  }

  document.querySelector("button").addEventListener("click", () => {
    add().catch((error) => {
      document.querySelector("[role=status]").textContent = error.message;
    });
  });
</script>
</html>
`;
//? end
