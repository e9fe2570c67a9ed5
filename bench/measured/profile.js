/**
 * Where the time of a way of reading goes: `profile.js <case> <milliseconds>`. Prints each function's share of the
 * time spent in itself, the largest first; nothing but the reads is in it.
 */
import { Session } from "node:inspector/promises";
import { basename } from "node:path";
import process from "node:process";
import { IN_FLIGHT, makeCases } from "./cases.js";

const [name, milliseconds] = process.argv.slice(2);
/** Microseconds between two samples. */
const INTERVAL = 100;

const run = (await makeCases())[name];
const runFor = async (milliseconds) => {
  const end = performance.now() + milliseconds;
  while (performance.now() < end) await run(10 * IN_FLIGHT);
};

await runFor(1000);
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: INTERVAL });
await session.post("Profiler.start");
await runFor(Number(milliseconds));
const { profile } = await session.post("Profiler.stop");
console.log(JSON.stringify(shares(profile)));
process.exit();

function shares({ nodes, samples, timeDeltas }) {
  const labels = new Map(nodes.map(({ id, callFrame }) => [id, label(callFrame)]));
  const spent = new Map();
  let all = 0;
  samples.forEach((id, index) => {
    const label = labels.get(id);
    if (label.endsWith("node:inspector")) return;
    all += timeDeltas[index];
    spent.set(label, (spent.get(label) ?? 0) + timeDeltas[index]);
  });
  return [...spent]
    .map(([label, microseconds]) => [label, microseconds / all])
    .sort(([, a], [, b]) => b - a);
}

function label({ functionName, url }) {
  if (!url) return /^\(|^$/.test(functionName) ? functionName || "(native)" : `${functionName}, native`;
  return `${functionName || "(anonymous)"}, ${url.startsWith("node:") ? url : basename(url)}`;
}
