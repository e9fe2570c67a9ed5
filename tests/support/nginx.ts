/**
 * The system's nginx, in front of servers of a test.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import net from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { temporaryFolder } from "./examples.ts";
import { freePort } from "./free_port.ts";

/** Where nginx is: `TEST_NGINX`, or where Debian puts it. */
const executablePath = process.env.TEST_NGINX || "/usr/sbin/nginx";

/** A running nginx. */
export interface Nginx extends AsyncDisposable {
  /** Where it listens, with TLS. */
  readonly origin: string;
}

/** A test that needs nginx. Without one it says that it did not run; in CI, which has to have one, it fails. */
export function nginxTest(name: string, run: () => Promise<void>): void {
  if (existsSync(executablePath)) return Deno.test(name, run);
  const text = `Not run, for want of nginx (${executablePath}; TEST_NGINX names another): ${name}`;
  if (process.env.CI) Deno.test(name, () => Promise.reject(new Error(text)));
  else console.warn(text);
}

/**
 * Starts it with the servers of a file that is included in its configuration.
 *
 * @param servers They listen at port 443, which becomes a free one; `cert.pem` and `key.pem` are made here.
 */
export async function startNginx(servers: string, names: string[]): Promise<Nginx> {
  const folder = await temporaryFolder();
  try {
    await makeCertificate(folder.path, names);
    for (let attempt = 1;; attempt++) {
      const port = await freePort();
      const started = await start(
        folder.path,
        servers.replaceAll("listen 443", `listen 127.0.0.1:${port}`),
        port,
      );
      if (typeof started !== "string") {
        const dispose = async () => {
          await end(started);
          await folder[Symbol.asyncDispose]();
        };
        return { origin: `https://127.0.0.1:${port}`, [Symbol.asyncDispose]: dispose };
      }
      // Another process may have taken the port in between
      if (!started.includes("Address already in use") || attempt === 5) throw new Error(started);
    }
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** Starts it; gives what it complained about if it ended at once. */
async function start(folder: string, servers: string, port: number): Promise<ChildProcess | string> {
  await writeFile(join(folder, "servers.conf"), servers);
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off; pid nginx.pid; worker_processes 1;
events {}
http { access_log off; client_body_temp_path body; proxy_temp_path proxy; include servers.conf; }
`,
  );
  const child = spawn(executablePath, ["-p", folder, "-c", "nginx.conf", "-e", "stderr"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let output = "";
  child.stderr.on("data", (chunk) => output += chunk);
  const ended = once(child, "close").then(() => `nginx ended:\n${output}`);
  return await Promise.race([ended, untilListening(port, child).then(() => child)]);
}

/** Waits until a port takes connections. */
async function untilListening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const connected = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "close");
  child.kill("SIGTERM");
  await ended;
}

async function makeCertificate(folder: string, names: string[]): Promise<void> {
  const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=${names.map((name) => `DNS:${name}`)}`];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const files = ["-keyout", join(folder, "key.pem"), "-out", join(folder, "cert.pem")];
  await promisify(execFile)("openssl", ["req", "-x509", ...key, ...files, "-days", "1", ...subject]);
}
