/**
 * A TCP proxy on loopback in front of a server, which can be slow, silent or gone.
 *
 * @module
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The proxy. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Milliseconds that each packet takes in either direction; `Infinity` holds it back until that changes. */
  delay: number;
  /** Whether connections are cut off, those that are there and every new one. */
  isGone: boolean;
}

/** Starts a proxy in front of a port. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let delay = 0;
  let isGone = false;
  const forward = (from: Socket, to: Socket) => {
    to.setNoDelay(true);
    // In order, also if the delay changes
    let last = Promise.resolve();
    let waiting = 0;
    from.on("data", (chunk) => {
      if (delay === 0 && waiting === 0) return void to.write(chunk);
      waiting++;
      const due = delay === Infinity
        ? new Promise<void>((resolve) => held.push(resolve))
        : new Promise<void>((resolve) => setTimeout(resolve, delay));
      last = last.then(() => due).then(() => {
        waiting--;
        to.write(chunk);
      });
    });
    from.on("error", () => {}).on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((client) => {
    if (isGone) return void client.destroy();
    const upstream = connect(target, "127.0.0.1");
    sockets.add(client).add(upstream);
    forward(client, upstream);
    forward(upstream, client);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get delay() {
      return delay;
    },
    set delay(milliseconds) {
      delay = milliseconds;
      if (milliseconds !== Infinity) { for (const release of held.splice(0)) release(); }
    },
    get isGone() {
      return isGone;
    },
    set isGone(gone) {
      isGone = gone;
      if (gone) { for (const socket of sockets) socket.destroy(); }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
