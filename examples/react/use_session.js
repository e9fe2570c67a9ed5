/** `useSession()`: the session in any component, read once for all of them. */
import { createAuthClient } from "fastify-authjs/client";
import { useSyncExternalStore } from "react";

export const auth = createAuthClient();

const LOADING = { status: "loading", session: null };
let state = LOADING;
let latest = 0;
const components = new Set();

async function read() {
  const own = ++latest;
  const found = await auth.getSession().then(
    (session) => ({ status: session ? "signed-in" : "signed-out", session }),
    (error) => ({ ...state, status: "unknown", error }), // the server does not answer: keep the session that is shown
  );
  if (own !== latest) return; // another read has begun since, after a sign-out perhaps
  state = found;
  components.forEach((update) => update());
}

auth.onChange(read);
globalThis.window?.addEventListener("focus", read);
// The page is shown again as it was left, by the browser's back button.
globalThis.window?.addEventListener("pageshow", ({ persisted }) => persisted && read());

function subscribe(update) {
  if (state.status === "loading" && components.size === 0) read();
  components.add(update);
  return () => components.delete(update);
}

/** The session: `const { status, session } = useSession()`. It is read again after a change, and with the focus. */
export const useSession = () => useSyncExternalStore(subscribe, () => state, () => LOADING);
