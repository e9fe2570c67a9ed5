/**
 * One contestant in a process of its own: `serve.js <app> [parameter]`. Prints its port and cookies; after that it
 * answers each line it is sent with its resident memory in bytes and the microseconds of CPU it has used, and it ends
 * with its parent.
 */
import process from "node:process";
import { createInterface } from "node:readline";

const [app, parameter] = process.argv.slice(2);
const { start } = await import(`./apps/${app}.js`);
console.log(JSON.stringify(await start(parameter)));
createInterface({ input: process.stdin })
  .on("line", () => console.log(JSON.stringify(used())))
  .on("close", () => process.exit());

function used() {
  const { user, system } = process.cpuUsage();
  return { memory: process.memoryUsage.rss(), cpu: user + system };
}
