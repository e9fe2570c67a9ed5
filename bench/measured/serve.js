/**
 * One contestant in a process of its own: `serve.js <app> [parameter]`. Prints its port and cookies; after that it
 * answers each line with the microseconds of CPU it has used. It ends with its parent.
 */
import { executionAsyncResource } from "node:async_hooks";
import process from "node:process";
import { createInterface } from "node:readline";

const [app, parameter] = process.argv.slice(2);
/** Exported so that it is kept. */
export const tick = await currentTick();
const { start } = await import(`./apps/${app}.js`);
console.log(JSON.stringify(await start(parameter)));
createInterface({ input: process.stdin })
  .on("line", () => console.log(JSON.stringify(cpu())))
  .on("close", () => process.exit());

/**
 * The object that Node makes for a call of `process.nextTick()`. While one is kept, V8 keeps the shape of all of them.
 * Without any, garbage collections while no request is under way make each later call dearer, for as long as the
 * process runs: chance decides which of the contestants that happens to.
 */
function currentTick() {
  return new Promise((resolve) => process.nextTick(() => resolve(executionAsyncResource())));
}

function cpu() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
