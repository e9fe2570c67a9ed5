/**
 * What takes too long for every commit: `deno task weekly`, once a week and before a release, about three and a half
 * hours on two cores. Runs all of it, also after a failure. It needs the browser and the servers of the tests, which
 * `.ci/run weekly` starts. `--from=<name>` begins with one of the steps. Deno's canary, macOS and Windows are for
 * `.github/workflows/weekly.yml`, which has these machines.
 *
 * @module
 */
import { jsrAnswers } from "./deno.ts";

interface Step {
  name: string;
  /** About how long it takes on two cores. */
  minutes: number;
  task: readonly string[];
  /** Whether it needs dnt, which only JSR has. */
  needsJsr?: boolean;
}

const STEPS: readonly Step[] = [
  {
    name: "package", // every runtime, package manager, bundler and compiler, new projects, the upgrade
    minutes: 25,
    task: ["test:npm", "--own-tests=20,22,24,26"],
  },
  { name: "soak", minutes: 5, task: ["soak", "--minutes=5", "--package=npm"] }, // of what was just built
  { name: "newest", minutes: 8, task: ["ok", "--no-lock"] }, // the newest version in each range
  { name: "model", minutes: 10, task: ["test:model"] },
  { name: "mutation", minutes: 150, task: ["mutation"] },
  { name: "dnt", minutes: 10, task: ["build:npm", "--with=dnt", "--test"], needsJsr: true },
];

const from = Deno.args.find((arg) => arg.startsWith("--from="))?.slice("--from=".length) ?? STEPS[0]!.name;
const first = STEPS.findIndex(({ name }) => name === from);
if (first < 0) throw new Error(`--from is one of ${STEPS.map(({ name }) => name).join(", ")}`);

let [passed, failed] = [0, 0];
const summary: string[] = [];
for (const { name, minutes, task, needsJsr } of STEPS.slice(first)) {
  if (needsJsr && !await jsrAnswers()) {
    summary.push(`not run ${name}: JSR does not answer`);
    continue;
  }
  console.log(`\n${name}, about ${minutes} minutes: deno task ${task.join(" ")}`);
  // Tests that try some of many combinations in each run try all of them
  const command = new Deno.Command(Deno.execPath(), { args: ["task", ...task], env: { TEST_THOROUGH: "1" } });
  const { success } = await command.spawn().status;
  success ? passed++ : failed++;
  summary.push(`${success ? "ok     " : "FAILED "} ${name}`);
}
console.log(`\n${summary.join("\n")}\n\n${passed} passed, ${failed} failed`);
Deno.exit(failed === 0 ? 0 : 1);
