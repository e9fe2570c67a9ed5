/** `useSession()`: the session in any component, read once for all of them. */
import { createAuthClient } from "fastify-authjs/client";
import { useSyncExternalStore } from "react";

export const auth = createAuthClient();

let state = { status: "loading", session: null };
const components = new Set();

async function read() {
  try {
    const session = await auth.getSession();
    state = { status: session ? "signed-in" : "signed-out", session };
  } catch (error) {
    state = { ...state, status: "unknown", error }; // the server does not answer: keep the session that is shown
  }
  components.forEach((update) => update());
}

auth.onChange(read);
globalThis.window?.addEventListener("focus", read);

function subscribe(update) {
  if (state.status === "loading" && components.size === 0) read();
  components.add(update);
  return () => components.delete(update);
}

/** The session: `const { status, session } = useSession()`. It is read again after a change, and with the focus. */
export const useSession = () => useSyncExternalStore(subscribe, () => state, () => state);
