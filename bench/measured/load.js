/**
 * The load generator: reads an order as a line of JSON for each round, and answers with requests a second, statuses and
 * what went wrong. An order has `url`, `connections`, the `requests` that are sent in turn, and `seconds`, or how many
 * `turns` they take. With `manyUsers` each request has the session cookie of another user as well.
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

/** How many requests were sent to each address, so that a round goes on where the last one ended. */
const sent = new Map();

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const { url, seconds, turns, connections, manyUsers = false } = order;
  const requests = manyUsers ? withUsers(order.requests, await cookiesOfUsers()) : order.requests;
  const turned = rotate(requests, sent.get(url) ?? 0);
  let client = 0;
  // A generator that sleeps is woken by each answer, which costs the server more CPU than the rest of its reply.
  let awake = setImmediate(function stayAwake() {
    awake = setImmediate(stayAwake);
  });
  const result = await autocannon({
    url,
    connections,
    timeout: 10,
    ...(seconds === undefined
      ? { amount: Math.max(turns * turned.length, connections) }
      // It ends with a sample, which by default is once a second.
      : { duration: seconds, sampleInt: seconds * 500, maxOverallRequests: MOST_REQUESTS }),
    setupClient: (connection) => connection.setRequests(share(turned, client++, connections)),
  });
  clearImmediate(awake);
  const { errors, timeouts, statusCodeStats } = result;
  sent.set(url, (sent.get(url) ?? 0) + result.requests.total);
  console.log(JSON.stringify({
    requests: result.requests.total,
    perSecond: result.requests.total / result.duration,
    statuses: Object.keys(statusCodeStats ?? {}),
    failed: errors + timeouts,
  }));
}

/** Each request once for each user, with the user's session cookie. */
function withUsers(requests, cookies) {
  return cookies.map((session, index) => {
    const { headers, ...request } = requests[index % requests.length];
    const cookie = [headers?.cookie, session].filter(Boolean).join("; ");
    return { ...request, headers: { ...headers, cookie } };
  });
}

function rotate(requests, count) {
  const first = count % requests.length;
  return [...requests.slice(first), ...requests.slice(0, first)];
}

/** The requests one connection takes turns with: its part of many, or the only one. */
function share(requests, client, clients) {
  return requests.length < clients ? requests : requests.filter((_, index) => index % clients === client);
}
