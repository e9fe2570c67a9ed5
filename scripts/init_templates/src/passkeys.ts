//? webauthn
import { readFile } from "node:fs/promises";
import "@simplewebauthn/browser";
import type { FastifyInstance } from "fastify";
import type { Auth } from "./auth.ts";

/** What browsers are sent of it. */
const LIBRARY = new URL(import.meta.resolve("@simplewebauthn/browser"));

/** A page on which a signed-in user adds a passkey. */
export function addPasskeyPage(app: FastifyInstance, auth: Auth): void {
  app.get("/passkeys/library.js", async (_request, reply) => {
    return reply.type("text/javascript").send(await readFile(LIBRARY));
  });

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
  import { startRegistration } from "/passkeys/library.js";

  async function add() {
    const url = "/auth/webauthn-options/{{passkey}}?action=register";
    const response = await fetch(url);
    const { options, error } = await response.json();
    if (!response.ok) throw new Error(error);
    const data = JSON.stringify(await startRegistration(options));
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
