/**
 * A cluster of two workers (`node:cluster`), each with an application. The primary process prints the codes of the
 * warnings that the workers logged, as JSON.
 *
 * @module
 */
import cluster from "node:cluster";
import process from "node:process";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { captureLog, testConfig } from "./app.ts";

if (cluster.isPrimary) {
  const codes: string[] = [];
  const workers = [cluster.fork(), cluster.fork()];
  await Promise.all(workers.map((worker) =>
    new Promise((resolve) => {
      worker.on("message", (found: string[]) => codes.push(...found));
      worker.once("exit", resolve);
    })
  ));
  console.log(JSON.stringify(codes));
} else {
  const { logger, lines } = captureLog();
  const app = Fastify({ logger } as object) as unknown as FastifyInstance;
  const config = testConfig({ callbacks: { jwt: ({ token }) => token } });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.ready();
  await app.close();
  const codes = lines.filter(({ level }) => level === 40).map(({ code }) => code);
  process.send!(codes, () => process.disconnect!());
}
