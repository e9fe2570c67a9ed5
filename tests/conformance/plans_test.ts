/** Every module of the conformance plans, by the names of the suite. */
import { assertEquals } from "@std/assert";
import { runModule } from "./module.ts";
import { PLANS } from "./plans.ts";

for (const plan of PLANS) {
  for (const module of plan.modules) {
    Deno.test(`V7: ${plan.name}: ${module.name}: ${module.outcome}`, async () => {
      assertEquals(await runModule(module, plan), module.outcome);
    });
  }
}
