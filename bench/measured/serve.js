/**
 * One contestant in a process of its own: `serve.js <app>`. Prints its port and cookie; after that it answers each
 * line it is sent with its resident memory in bytes, and it ends with its parent.
 */
import process from "node:process";
import { createInterface } from "node:readline";

const { start } = await import(`./apps/${process.argv[2]}.js`);
console.log(JSON.stringify(await start()));
createInterface({ input: process.stdin })
  .on("line", () => console.log(String(process.memoryUsage.rss())))
  .on("close", () => process.exit());
