/** Collects what each check found and prints it as a table of runtime by check. */

/** What one check found on one runtime or tool. */
export interface Result {
  passed: number;
  /** One line a failure. */
  failed: string[];
  /** What the table says in place of the count. */
  note?: string;
}

/** Results by row (a runtime or a tool) and column (a check). */
export class Matrix {
  #rows = new Map<string, Map<string, Result>>();

  /** Runs a check and records what it found. A check that throws has failed. */
  async check(row: string, column: string, run: () => Promise<Result> | Result): Promise<void> {
    const started = performance.now();
    const result = await Promise.resolve().then(run).catch((error) => ({
      passed: 0,
      failed: [String(error)],
    }));
    if (!this.#rows.has(row)) this.#rows.set(row, new Map());
    this.#rows.get(row)?.set(column, result);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(
      `${result.failed.length ? "FAIL" : "ok  "} ${row}: ${column} (${toCell(result)}, ${seconds} s)`,
    );
    for (const failure of result.failed) console.log(`     ${failure.trim().replaceAll("\n", "\n     ")}`);
  }

  /** The table, ready for a terminal. */
  toString(): string {
    const columns = [...new Set([...this.#rows.values()].flatMap((row) => [...row.keys()]))];
    const lines = [["", ...columns]];
    for (const [name, row] of this.#rows) {
      lines.push([name, ...columns.map((column) => toCell(row.get(column)))]);
    }
    const widths = lines[0]?.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0))) ??
      [];
    return lines.map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ")).join(
      "\n",
    );
  }

  /** The number of single checks that passed and failed. */
  totals(): { passed: number; failed: number } {
    const results = [...this.#rows.values()].flatMap((row) => [...row.values()]);
    return {
      passed: results.reduce((sum, { passed }) => sum + passed, 0),
      failed: results.reduce((sum, { failed }) => sum + failed.length, 0),
    };
  }
}

function toCell(result: Result | undefined): string {
  if (!result) return "-";
  if (result.failed.length > 0) return `${result.passed} ok, ${result.failed.length} FAILED`;
  return result.note ?? `${result.passed} ok`;
}
