/** What happened in a run: answers, faults, and everything that must not have happened. */

/** A time in which a fault, and what follows from it, explains answers. */
interface FaultWindow {
  readonly name: string;
  /** Whether calls of the store are answered. */
  readonly storeAnswers: boolean;
  /** In milliseconds since 1970. */
  readonly from: number;
  /** When the fault ended. */
  end: number;
  /** Until when its consequences are explained by it. */
  until: number;
  /** Requests that were sent or answered within it. */
  requests: number;
  /** Those answered with 503. */
  unavailable: number;
  /** When the last 503 was answered. */
  lastUnavailable: number;
}

/** Something that must not have happened. */
interface Finding {
  readonly kind: FindingKind;
  readonly text: string;
  /** Milliseconds since the start. */
  readonly at: number;
}

/** What must not happen. */
export type FindingKind =
  | "another user's session"
  | "another user's access token"
  | "a session was lost"
  | "a session came back"
  | "an update was lost"
  | "a forged cookie was accepted"
  | "an unexplained 5xx"
  | "an unexpected answer"
  | "a refresh token was used twice"
  | "a process failed";

/** How many findings are kept with their texts. */
const FINDINGS_KEPT = 50;

/** How long after a fault its consequences are explained by it, in milliseconds: time-outs, and pauses of clients. */
const AFTERMATH_MS = 10_000;

/** Counts. */
export class Tally {
  readonly started = Date.now();
  readonly actions: Record<string, number> = {};
  readonly statuses: Record<string, number> = {};
  readonly windows: FaultWindow[] = [];
  readonly findings: Finding[] = [];
  readonly found: Partial<Record<FindingKind, number>> = {};
  requests = 0;
  /** Reads whose user was compared. */
  compared = 0;
  /** Updates of sessions that succeeded. */
  updated = 0;
  /** Requests that the client broke off. */
  aborted = 0;
  /** Requests without an answer since the process was ended, sent again to the other process. */
  rerouted = 0;

  add(counts: Record<string, number>, name: string): void {
    counts[name] = (counts[name] ?? 0) + 1;
  }

  find(kind: FindingKind, text: string): void {
    this.found[kind] = (this.found[kind] ?? 0) + 1;
    if (this.findings.length < FINDINGS_KEPT) {
      this.findings.push({ kind, text, at: Date.now() - this.started });
      console.error(`  ${kind}: ${text}`);
    }
  }

  openWindow(name: string, storeAnswers: boolean): FaultWindow {
    const window: FaultWindow = {
      name,
      storeAnswers,
      from: Date.now(),
      end: Infinity,
      until: Infinity,
      requests: 0,
      unavailable: 0,
      lastUnavailable: 0,
    };
    this.windows.push(window);
    return window;
  }

  closeWindow(window: FaultWindow): void {
    window.end = Date.now();
    window.until = window.end + AFTERMATH_MS;
  }

  /** The latest fault that explains what has happened since a time. */
  windowAt(from: number): FaultWindow | undefined {
    return this.windows.findLast(({ until }) => from <= until);
  }
}
