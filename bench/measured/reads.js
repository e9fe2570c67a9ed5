/**
 * Times session reads: `reads.js <seconds> <milliseconds>`: how long in all, and one case in a round. All ways of reading take turns in short rounds of one
 * process, and each round compares them with each other. Prints microseconds a read, by case and round.
 */
import process from "node:process";
import { IN_FLIGHT, makeCases } from "./cases.js";
import { quiet } from "./quiet.js";

const [seconds, milliseconds] = process.argv.slice(2).map(Number);

/** Rounds, however little time there is. */
const LEAST = 3;

async function time(run, count) {
  const start = performance.now();
  await run(count);
  return (performance.now() - start) * 1000 / count;
}

const cases = Object.entries(await makeCases());
const counts = {};
for (const [name, run] of cases) {
  await time(run, 2 * IN_FLIGHT);
  counts[name] = Math.ceil(
    milliseconds * 1000 / await time(run, 10 * IN_FLIGHT) / IN_FLIGHT,
  ) * IN_FLIGHT;
  await time(run, counts[name]);
}
const measured = [];
while (measured.length < LEAST || performance.now() < seconds * 1000) {
  await quiet();
  const result = {};
  for (const [name, run] of cases) result[name] = await time(run, counts[name]);
  measured.push(result);
}
console.log(JSON.stringify(measured));
process.exit();
