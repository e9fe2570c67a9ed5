import { startBetterAuth } from "../better_auth.js";

/** With its signed cookie cache, which spares the database. */
export const start = () => startBetterAuth({ cookieCache: { enabled: true, maxAge: 60 * 60 } });
