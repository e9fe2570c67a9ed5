/**
 * One contestant in a process of its own: `serve.js <app>`. Prints its port and cookies; after that it answers each
 * line it is sent with its resident memory in bytes and the microseconds of CPU it has used, and it ends with its parent.
 */
import process from "node:process";
import { createInterface } from "node:readline";

const { start } = await import(`./apps/${process.argv[2]}.js`);
console.log(JSON.stringify(await start()));
createInterface({ input: process.stdin })
  .on("line", () => console.log(JSON.stringify(used())))
  .on("close", () => process.exit());

function used() {
  const { user, system } = process.cpuUsage();
  return { memory: process.memoryUsage.rss(), cpu: user + system };
}
