/**
 * fast-check for the property tests, with the same cases in each run: a failure of the gate is then one of the change that
 * is tested. `TEST_SEED=random` tries others; a number repeats the run that printed it.
 *
 * @module
 */
import fc from "fast-check";
import process from "node:process";
import { SEED } from "./random.ts";

const { TEST_SEED = String(SEED) } = process.env;
if (TEST_SEED !== "random") fc.configureGlobal({ seed: Number(TEST_SEED) });

export default fc;
