/**
 * A real SMTP server on loopback that keeps what it is given.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import PostalMime, { type Email } from "postal-mime";
// @ts-types="@types/smtp-server"
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A message that arrived. */
export interface Mail {
  /** The recipients. */
  readonly recipients: readonly string[];
  /** Whether the connection was encrypted. */
  readonly secure: boolean;
  /** The user that had signed in, if one had. */
  readonly user: string | undefined;
  /** What a mail program shows. */
  readonly message: Email;
}

/** How the server behaves. */
export interface SmtpOptions {
  /** The encryption: from the first byte, after STARTTLS, or none. */
  readonly tls?: "implicit" | "starttls";
  /** The one user who may send; without it no user signs in. */
  readonly login?: { user: string; pass: string };
  /** Lets others send as well. */
  readonly open?: boolean;
  /** Refuses this recipient. */
  readonly refuses?: string;
  /** Never says a word. */
  readonly silent?: boolean;
}

/** A running server. */
export interface SmtpServer extends AsyncDisposable {
  readonly port: number;
  readonly mails: Mail[];
}

/** The certificate of the server, for a client that is to trust it. */
export const certificate = (): Promise<Buffer> => readFile(new URL("./tls/cert.pem", import.meta.url));

/** Starts a server. */
export async function startSmtp(
  { tls, login, open, refuses, silent }: SmtpOptions = {},
): Promise<SmtpServer> {
  const mails: Mail[] = [];
  const options: SMTPServerOptions = {
    authOptional: !login || !!open,
    disabledCommands: [...(login ? [] : ["AUTH"]), ...(tls === "starttls" ? [] : ["STARTTLS"])],
    secure: tls === "implicit",
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 100,
    ...(tls && { cert: await certificate(), key: await readFile(new URL("./tls/key.pem", import.meta.url)) }),
    onConnect: (_session, done) => silent ? undefined : done(),
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.pass) done(null, { user: username });
      else done(new Error("Invalid username or password"));
    },
    onRcptTo({ address }, _session, done) {
      done(address === refuses ? new Error("No such mailbox") : null);
    },
    onData(stream, { envelope, secure, user }, done) {
      collect(stream).then(async (raw) => {
        const recipients = envelope.rcptTo.map(({ address }) => address);
        mails.push({ recipients, secure, user: user || undefined, message: await PostalMime.parse(raw) });
        done();
      }).catch(done);
    },
  };
  const server = new SMTPServer(options);
  // A connection that broke off: without a listener it would end the process.
  server.on("error", () => {});
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    port,
    mails,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
