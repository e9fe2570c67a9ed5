/**
 * fast-check for the property tests, with the same cases in each run: a failure of the gate is then one of the change that
 * is tested. `TEST_SEED=random` tries others, and prints the seed; a number repeats the run that printed it.
 *
 * @module
 */
import fc from "fast-check";
import process from "node:process";
import { SEED, seedOf } from "./random.ts";

const { TEST_SEED = String(SEED) } = process.env;
const seed = seedOf(TEST_SEED);
if (TEST_SEED === "random") console.log(`TEST_SEED=${seed}`);
fc.configureGlobal({ seed });

export default fc;
