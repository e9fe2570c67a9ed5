/** A machine that does something else meanwhile measures that, too. */
import { cpus } from "node:os";

const SAMPLE = 250;
const LONGEST_WAIT = 2_000;
const BUSY = 0.1;

/** Waits until the processors have little else to do, but not for long. */
export async function quiet() {
  const end = performance.now() + LONGEST_WAIT;
  while (await busyShare() > BUSY && performance.now() < end);
}

async function busyShare() {
  const before = times();
  await new Promise((resolve) => setTimeout(resolve, SAMPLE));
  const after = times();
  return 1 - (after.idle - before.idle) / (after.all - before.all);
}

function times() {
  const sum = { idle: 0, all: 0 };
  for (const { times } of cpus()) {
    sum.idle += times.idle;
    sum.all += times.user + times.nice + times.sys + times.idle + times.irq;
  }
  return sum;
}
