import { startBetterAuth } from "../better_auth.js";

/** As it is set up by default: each read asks the database. */
export const start = () => startBetterAuth({});
