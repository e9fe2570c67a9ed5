/**
 * What callgrind writes, and how much of it V8 did for itself.
 *
 * @module
 */

/** Instructions in user space. */
export interface Count {
  /** All of them. */
  readonly all: number;
  /** Without compiling JavaScript and collecting garbage. */
  readonly rest: number;
}

/**
 * Functions of V8 that compile JavaScript or collect garbage, by their names: the parser, the interpreter's compiler, the
 * baseline and the optimizing ones, giving up what they made, and the collectors. A name has the types of its parameters
 * and of the template's arguments in it, so what the standard library does for these types is found, too.
 */
const V8_ITSELF = new RegExp(
  "v8::internal::(?:" + [
    "(?:baseline|compiler|interpreter|maglev|parsing)::",
    "(?:Baseline|Optimizing)\\w*Compile",
    "(?:Unoptimized|Optimized|Turbofan)Compilation",
    "BackgroundCompileTask::",
    "Compiler::",
    "Deoptimizer::",
    "LazyCompileDispatcher::",
    "RegExpImpl::Compile",
    "TieringManager::",

    "ArrayBufferSweeper::(?!Append|Detach|Resize)",
    "ConcurrentMarking",
    "Heap::(?:Collect|Perform|StartIncrementalMarking)",
    "IncrementalMarking",
    "MarkCompactCollector",
    "MinorMark(?:Sweep|Compact)",
    "Scavenge",
    "Sweeper::",
  ].join("|") + ")",
);

/** What callgrind wrote about a function. */
interface Called {
  /** The instructions of its own. */
  own: number;
  /** What its callers had it do, with all that it called, by caller. */
  readonly for: Map<string, number>;
  readonly isV8Itself: boolean;
}

/**
 * Counts what one output of callgrind has.
 *
 * What other functions, such as those that allocate memory, do for compilers and collectors counts as theirs: in
 * proportion to what each caller had a function do.
 */
export function readCallgrind(output: string): Count {
  const functions = readFunctions(output);
  const shares = sharesOfV8(functions);
  let [all, rest] = [0, 0];
  for (const [id, { own }] of functions) {
    all += own;
    rest += own * (1 - shares.get(id)!);
  }
  return { all, rest };
}

/** The functions by the numbers that callgrind has given them. */
function readFunctions(output: string): Map<string, Called> {
  const functions = new Map<string, Called>();
  /** Each is named where it is first mentioned, `(7) main`, and after that it is `(7)`. */
  const idOf = (reference: string): string => {
    const end = reference.indexOf(")") + 1;
    const id = reference.slice(0, end);
    const isV8Itself = V8_ITSELF.test(reference.slice(end));
    if (!functions.has(id)) functions.set(id, { own: 0, for: new Map(), isV8Itself });
    return id;
  };
  let [caller, callee] = ["", ""];
  let isCall = false;
  for (const line of output.split("\n")) {
    if (line.startsWith("fn=")) caller = idOf(line.slice(3));
    else if (line.startsWith("cfn=")) callee = idOf(line.slice(4));
    else if (line.startsWith("calls=")) isCall = true;
    else if (/^[\d+*-]/.test(line)) {
      // The line's number in the source, and the cost: after "calls=" that of the calls.
      const cost = Number(line.split(" ")[1] ?? 0);
      if (isCall) {
        const callers = functions.get(callee)!.for;
        callers.set(caller, (callers.get(caller) ?? 0) + cost);
      } else {
        functions.get(caller)!.own += cost;
      }
      isCall = false;
    }
  }
  return functions;
}

/** Rounds until the shares stay as they are: about as many as calls are deep between V8's functions and others. */
const ROUNDS = 50;

/** For each function the share of its work that is V8's own. */
function sharesOfV8(functions: ReadonlyMap<string, Called>): ReadonlyMap<string, number> {
  const shares = new Map(Array.from(functions, ([id, { isV8Itself }]) => [id, isV8Itself ? 1 : 0]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [id, { isV8Itself, for: callers }] of functions) {
      if (isV8Itself) continue;
      let [all, own] = [0, 0];
      for (const [caller, cost] of callers) {
        all += cost;
        own += cost * shares.get(caller)!;
      }
      if (all > 0) shares.set(id, own / all);
    }
  }
  return shares;
}
