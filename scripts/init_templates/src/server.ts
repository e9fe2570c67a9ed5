import process from "node:process";
import { build } from "./app.ts";
import { openDatabase } from "./database.ts"; //? database
import { setting } from "./environment.ts"; //? database

const database = await openDatabase(setting("DATABASE_URL")); //? database
const { app } = await build(database, { logger: true }); //? database
//| const { app } = await build({ logger: true }); //? !database

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => app.close().then(() => process.exit(0)));
}

//? database
// Rows of users who do not come back
const timer = setInterval(
  () => database.prune().catch((error) => app.log.error(error)),
  60 * 60 * 1000,
);
timer.unref();

//? end
await app.listen({
  port: Number(process.env.PORT ?? 3000),
  host: process.env.HOST ?? "localhost",
});
