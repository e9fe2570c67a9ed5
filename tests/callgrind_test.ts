import { assertEquals } from "@std/assert";
import { readCallgrind } from "../bench/callgrind.ts";

/** What callgrind writes: functions are named once, and what they call is no part of what they did themselves. */
const output = (...functions: string[]) =>
  ["# callgrind format", "positions: line", "events: Ir", "", ...functions, "", "totals: 0"].join("\n");

Deno.test("readCallgrind() adds up what each function did itself", () => {
  const count = readCallgrind(output(
    "fn=(1) main",
    "16 100",
    "+2 20",
    "cfn=(2) work",
    "calls=3 50 ",
    "* 600",
    "",
    "fn=(2)",
    "50 600",
  ));
  assertEquals(count, { all: 720, rest: 720 });
});

Deno.test("readCallgrind() tells V8's compilers and collectors from the rest, with what others do for them", () => {
  const count = readCallgrind(output(
    "fn=(1) main",
    "0 100",
    "cfn=(2) v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)",
    "calls=1 0 ",
    "0 50",
    "cfn=(3) v8::internal::OptimizingCompileTaskExecutor::CompileTask::Run(v8::JobDelegate*)",
    "calls=1 0 ",
    "0 340",
    "cfn=(5) malloc",
    "calls=1 0 ",
    "0 100",
    "",
    "fn=(2)",
    "0 50",
    "",
    "fn=(3)",
    "0 40",
    "cfn=(4) std::sort",
    "calls=1 0 ",
    "0 300",
    "",
    "fn=(4)",
    "0 200",
    "cfn=(5)",
    "calls=1 0 ",
    "0 100",
    "",
    // Half of it for main.
    "fn=(5)",
    "0 200",
  ));
  assertEquals(count, { all: 590, rest: 200 });
});

Deno.test("readCallgrind() counts parsing JSON and running JavaScript with the rest", () => {
  const count = readCallgrind(output(
    "fn=(1) v8::internal::JsonParser<unsigned char>::ParseJson(v8::internal::DirectHandle<v8::internal::Object>)",
    "0 10",
    "",
    "fn=(2) Builtins_CompileLazy",
    "0 20",
    "",
    "fn=(3) v8::internal::ArrayBufferSweeper::Append(v8::internal::ArrayBufferExtension*)",
    "0 30",
  ));
  assertEquals(count, { all: 60, rest: 60 });
});
