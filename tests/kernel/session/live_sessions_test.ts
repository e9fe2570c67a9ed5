/** What a process knows of the sessions in use: bounds and times that no request reaches soon. */
import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { LiveSessions } from "../../../src/session/live_sessions.ts";

const MINUTE = 60_000;

/** A time that a test sets. */
function manualTime() {
  const time = { now: performance.now() };
  const stubbed = stub(performance, "now", () => time.now);
  return Object.assign(time, { [Symbol.dispose]: () => stubbed.restore() });
}

Deno.test("each replaced token of a session leads to the newest, for its time", () => {
  using time = manualTime();
  const live = new LiveSessions();
  for (let i = 0; i < 50; i++) {
    assertEquals(live.newest("t0"), `t${i}`);
    live.replace("name", `t${i}`, `t${i + 1}`);
  }
  const newest = () => ["t0", "t7", "t50", "other"].map((token) => live.newest(token));
  time.now += 30_000 - 1;
  assertEquals(newest(), ["t50", "t50", "t50", "other"]);
  live.replace("name", "t50", "t51");
  time.now += 2;
  assertEquals(newest(), ["t0", "t7", "t51", "other"]);
});

Deno.test("a codec that makes a token again leads to no older one", () => {
  const live = new LiveSessions();
  for (const [token, by] of [["a", "b"], ["s", "a"], ["b", "a"], ["a", "c"], ["c", "b"]] as const) {
    live.replace("name", token, by);
    assertEquals(live.newest(token), by);
  }
  assertEquals(["a", "b", "c", "s"].map((token) => live.newest(token)), ["b", "b", "b", "b"]);
});

Deno.test("replaced tokens are remembered within bounds: the oldest go first", () => {
  const live = new LiveSessions();
  const big = "x".repeat(2 ** 20);
  for (let i = 0; i < 8; i++) live.replace("name", `${i}${big}`, `to ${i}`);
  assertEquals(live.newest(`0${big}`), `0${big}`);
  assertEquals(live.newest(`7${big}`), "to 7");
});

Deno.test("the end of a session is known for as long as a request may be under way, or its tokens are used", () => {
  using time = manualTime();
  const live = new LiveSessions();
  assertEquals([live.end("ada"), live.end("bob"), live.end("ada")], [1, 1, 2]);
  time.now += 10 * MINUTE;
  assertEquals(live.endedFor("ada"), 10 * MINUTE);
  time.now += 10 * MINUTE;
  live.end("carl");
  assertEquals(["ada", "bob", "carl"].map((name) => live.endings(name)), [2, 0, 1]);
  live.begin("ada");
  assertEquals(live.endings("ada"), 0);
});

Deno.test("ends are remembered within bounds, and nothing that began before one was forgotten completes", () => {
  using time = manualTime();
  const live = new LiveSessions();
  const began = time.now;
  live.end("ada");
  for (let i = 0; i < 2 ** 16; i++) live.end(`user ${i}`);
  assertEquals(live.endings("ada"), 0);
  assertEquals(live.hasEndedSince("ada", began), true);
  time.now++;
  assertEquals(live.hasEndedSince("ada", time.now), false);
  assertEquals(live.hasEndedSince("user 9", time.now), true);
});

Deno.test("what began after a session ended goes on, also while that end is forgotten", () => {
  using time = manualTime();
  const live = new LiveSessions();
  const ended = time.now;
  live.end("ada");
  time.now++;
  for (let i = 0; i < 2 ** 16; i++) live.end(`made up ${i}`);
  assertEquals(live.endings("ada"), 0);
  assertEquals(live.hasEndedSince("bob", ended), true);
  assertEquals(live.hasEndedSince("bob", time.now), false);
});
