/**
 * The load generator, in a process of its own: reads a line of JSON for each round (`url`, `cookie`, `seconds`,
 * `connections`) and answers with requests a second and what went wrong. Without a cookie each request is another
 * user's.
 */
import autocannon from "autocannon";
import process from "node:process";
import { createInterface } from "node:readline";
import { sessionCookie, USERS } from "./fixture.js";

/** Whatever happens, no round sends more. */
const MOST_REQUESTS = 1_000_000;

let userCookies;
const cookiesOfUsers = () =>
  userCookies ??= Promise.all(
    Array.from({ length: USERS }, (_, sub) => sessionCookie({ sub: `${sub}` })),
  );

for await (const line of createInterface({ input: process.stdin })) {
  const { url, cookie, seconds, connections } = JSON.parse(line);
  const cookies = cookie === undefined ? await cookiesOfUsers() : [cookie];
  let client = 0;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    maxOverallRequests: MOST_REQUESTS,
    setupClient: (connection) =>
      connection.setRequests(
        share(cookies, client++, connections).map(toRequest),
      ),
  });
  const { requests, latency, non2xx, errors, timeouts } = result;
  console.log(JSON.stringify({
    requests: requests.total,
    perSecond: requests.total / result.duration,
    p99: latency.p99,
    failed: non2xx + errors + timeouts,
  }));
}

/** The cookies one connection takes turns with: its part of many, or the only one. */
function share(cookies, client, clients) {
  return cookies.length === 1 ? cookies : cookies.filter((_, index) => index % clients === client);
}

function toRequest(cookie) {
  return { headers: cookie ? { cookie } : {} };
}
