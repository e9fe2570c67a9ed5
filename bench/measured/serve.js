/**
 * One contestant in a process of its own: `serve.js <app> [parameter]`. Prints its port and cookies; after that it
 * answers each line it is sent with its resident memory in bytes and the microseconds of CPU it has used, after a full
 * garbage collection where the line is `collect`. It ends with its parent.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const [app, parameter] = process.argv.slice(2);
const { start } = await import(`./apps/${app}.js`);
console.log(JSON.stringify(await start(parameter)));
createInterface({ input: process.stdin })
  .on("line", (line) => {
    if (JSON.parse(line) === "collect") collectGarbage();
    console.log(JSON.stringify(used()));
  })
  .on("close", () => process.exit());

function collectGarbage() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

function used() {
  const { user, system } = process.cpuUsage();
  return { memory: process.memoryUsage.rss(), cpu: user + system };
}
