/** One session read, without HTTP around it, in all the ways that are compared. */
import Fastify from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { FastifyAuthInstrumentation } from "fastify-authjs/opentelemetry";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { authConfig, CALLBACKS, COOKIE, LARGE_CLAIMS, sessionCookie, USERS } from "./fixture.js";
import { byHand } from "./by_hand.js";
import { getSession as getSessionThroughCore } from "./port.js";

export const IN_FLIGHT = 16;

/** A request of Fastify's own, as a hook gets it. */
async function requestTo(config) {
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  let captured;
  app.get("/", (request) => {
    captured = request;
    return "";
  });
  await app.inject({ url: "/", headers: { host: "localhost" } });
  return captured;
}

/** Reads of one configuration for requests with these cookies, each read for a request of its own. */
async function reader(read, config, cookies) {
  const captured = await requestTo(authConfig());
  const { socket, method, url } = captured.raw;
  const headers = cookies.map((cookie) => ({ host: "localhost", ...(cookie && { cookie }) }));
  const reads = Object.getOwnPropertySymbols(captured)
    .find(({ description }) => description === "fastify-authjs.reads");
  if (reads === undefined) throw new Error("the plugin keeps its reads under another name");
  let next = 0;
  return () => {
    // All of one shape, as Fastify's are.
    const request = Object.create(captured);
    request.raw = { socket, method, url, headers: headers[next++ % headers.length] };
    // The plugin's decorator, which Fastify makes anew for each request.
    request[reads] = undefined;
    return read(request, config);
  };
}

function handReader(cookies) {
  const open = byHand();
  let next = 0;
  return () => open(cookies[next++ % cookies.length].slice(COOKIE.length + 1));
}

const oneAtATime = (read) => async (count) => {
  for (let i = 0; i < count; i++) await read();
};

/** The same, seen by an instrumentation of OpenTelemetry: all others run without it. */
const observed = (instrumentation, run) => async (count) => {
  instrumentation.enable();
  await run(count);
  instrumentation.disable();
};

/** An SDK that keeps the metrics until they are asked for. */
class Reader extends MetricReader {
  onForceFlush = () => Promise.resolve();
  onShutdown = () => Promise.resolve();
}

function instrumentations() {
  const observing = new FastifyAuthInstrumentation({ enabled: false });
  const recording = new FastifyAuthInstrumentation({ enabled: false });
  recording.setMeterProvider(new MeterProvider({ readers: [new Reader()] }));
  return { observing, recording };
}

const manyAtATime = (read) => async (count) => {
  for (let i = 0; i < count; i += IN_FLIGHT) {
    await Promise.all(Array.from({ length: IN_FLIGHT }, read));
  }
};

/** Every way of reading, by name: each runs so many reads. All of them are known to find the session. */
export async function makeCases() {
  const one = [await sessionCookie()];
  // Sessions of one user, of which the token cache holds few: nearly every read opens its token.
  const unseen = await Promise.all(Array.from({ length: USERS }, () => sessionCookie()));
  const large = await Promise.all(
    Array.from({ length: USERS / 8 }, () => sessionCookie(LARGE_CLAIMS)),
  );
  const ours = (cookies, providers = 1) => reader(getSession, authConfig(providers), cookies);
  const port = (cookies, providers = 1) =>
    reader(getSessionThroughCore, {
      ...authConfig(providers),
      basePath: "/auth",
    }, cookies);
  const { observing, recording } = instrumentations();
  const cases = {
    hand: oneAtATime(handReader(unseen)),
    first: oneAtATime(await ours(unseen)),
    again: oneAtATime(await ours(one)),
    observed: observed(observing, oneAtATime(await ours(one))),
    recorded: observed(recording, oneAtATime(await ours(one))),
    callbacks: oneAtATime(
      await reader(getSession, { ...authConfig(), callbacks: CALLBACKS }, one),
    ),
    portCallbacks: manyAtATime(
      await reader(getSessionThroughCore, {
        ...authConfig(),
        callbacks: CALLBACKS,
        basePath: "/auth",
      }, one),
    ),
    signedOut: oneAtATime(await ours([""])),
    providers: oneAtATime(await ours(unseen, 80)),
    chunks: oneAtATime(await ours(large)),
    chunksAgain: oneAtATime(await ours(large.slice(0, 1))),
    handChunks: oneAtATime(handReader(large.map(joined))),
    parallel: manyAtATime(await ours(unseen)),
    parallelAgain: manyAtATime(await ours(one)),
    port: manyAtATime(await port(unseen)),
    portOne: oneAtATime(await port(unseen)),
    portProviders: manyAtATime(await port(unseen, 80)),
    portChunks: manyAtATime(await port(large)),
  };
  await assertRead(await ours([...one, ""]), await port([...one, ""]));
  return cases;
}

const joined = (cookie) =>
  `${COOKIE}=${cookie.split("; ").map((pair) => pair.slice(pair.indexOf("=") + 1)).join("")}`;

/** What does nothing is fast, too, and so is what gives the session of the request before. */
async function assertRead(...reads) {
  for (const read of reads) {
    const sessions = [await read(), await read()];
    if (sessions[0]?.user?.name !== "Ada Lovelace" || sessions[1] !== null) {
      throw new Error(`not the sessions of the cookies: ${JSON.stringify(sessions)}`);
    }
  }
}
