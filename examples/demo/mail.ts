import { Buffer } from "node:buffer";
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
// @ts-types="@types/smtp-server"
import { SMTPServer } from "smtp-server";

/** A message that arrived. */
export interface Message {
  readonly id: number;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly received: Date;
  readonly text: string;
  readonly html: string;
}

/** A mail server, and the one inbox that everything sent to it lands in. */
export interface MailServer {
  /** Where nodemailer delivers: the `server` option of the provider. */
  readonly transport: { host: string; port: number; secure: false; ignoreTLS: true };
  /** The newest message comes first. */
  readonly inbox: readonly Message[];
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const KEPT_MESSAGES = 50;

/** Starts an SMTP server on loopback that accepts mail to any address and keeps the latest in memory. */
export async function startMailServer(): Promise<MailServer> {
  const inbox: Message[] = [];
  let received = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["AUTH", "STARTTLS"], // nothing leaves this machine
    onData(stream, session, done) {
      const to = session.envelope.rcptTo.map(({ address }) => address).join(", ");
      readAll(stream).then(async (raw) => {
        inbox.unshift(await parseMessage(raw, ++received, to));
        inbox.length = Math.min(inbox.length, KEPT_MESSAGES);
        done();
      }).catch(done);
    },
  });
  server.on("error", () => {}); // a connection that broke off; without a listener it would end the process
  await new Promise<void>((resolve, reject) => {
    server.server.once("error", reject);
    server.listen(0, HOST, resolve);
  });
  const { port } = server.server.address() as AddressInfo;
  return {
    transport: { host: HOST, port, secure: false, ignoreTLS: true },
    inbox,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function parseMessage(raw: Uint8Array, id: number, to: string): Promise<Message> {
  const { from, subject = "", text = "", html = "" } = await PostalMime.parse(raw);
  return { id, from: from?.address ?? "", to, subject, received: new Date(), text, html };
}
