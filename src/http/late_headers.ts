/** Headers that no other hook can override. */
import type { FastifyReply } from "fastify";

/** The headers of a reply that are about to be written. */
export interface LateHeaders {
  /** The names of those that are set. */
  names(): readonly string[];
  set(name: string, value: string): void;
  remove(name: string): void;
}

/** A reply whose headers are about to be written. */
export interface LateReply extends LateHeaders {
  setStatus(code: number): void;
  /** A header that Fastify sends, as one text: empty where there is none. */
  textOf(name: string): string;
  /** The values of a header, those that a handler passes to `writeHead()` included. */
  valuesOf(name: string): readonly string[];
  /** Sets a header, also in place of what a handler passes to `writeHead()`. */
  replace(name: string, value: string | readonly string[]): void;
}

/** The property of Node's response that keeps the changes. */
const LATE: unique symbol = Symbol("fastify-authjs.lateHeaders");

/** The part of Node's response that is changed. */
interface Response {
  writeHead: (...args: unknown[]) => unknown;
  [LATE]?: Late;
}

/**
 * Calls `change` when the headers of the reply are written: after every `onSend` hook of any scope, and after
 * the headers of a `Response` that a handler returned. Of several, the one that was given last is called
 * first.
 */
export function beforeHeaders(reply: FastifyReply, change: (headers: LateReply) => void): void {
  const raw = reply.raw as unknown as Response;
  const known = raw[LATE];
  if (known !== undefined && raw.writeHead === writeHead) return known.add(change);
  raw[LATE] = new Late(reply, change, raw.writeHead, known);
  raw.writeHead = writeHead;
}

/** In place of the method of Node's response. One function for all of them, so that they have one shape. */
function writeHead(this: Response, ...args: unknown[]): unknown {
  const late = this[LATE]!;
  late.run(args);
  if (late.inner === undefined) return late.writeHead.apply(this, args);
  // The application may have put a method of its own around ours, and we ours around that.
  this[LATE] = late.inner;
  try {
    return late.writeHead.apply(this, args);
  } finally {
    this[LATE] = late;
  }
}

/** The changes of the headers of a reply. */
class Late implements LateReply {
  readonly #reply: FastifyReply;
  readonly #changes: ((headers: LateReply) => void)[];
  /** The headers, where they are among the arguments of `writeHead()`. */
  #passed: object | undefined;
  /** The arguments of `writeHead()`. */
  #args: unknown[] | undefined;

  /**
   * @param writeHead The method that ours stands in place of.
   * @param inner The changes of ours that this one calls, if it does.
   */
  constructor(
    reply: FastifyReply,
    change: (headers: LateReply) => void,
    readonly writeHead: Response["writeHead"],
    readonly inner: Late | undefined,
  ) {
    this.#reply = reply;
    this.#changes = [change];
  }

  add(change: (headers: LateReply) => void): void {
    this.#changes.push(change);
  }

  run(args: unknown[]): void {
    this.#args = args;
    // Fastify passes the headers as an argument, or has set them one by one where it sends a stream. What a
    // handler passes that took over the reply (`reply.hijack()`) is added to those that are set here.
    const last = args[args.length - 1];
    this.#passed = typeof last === "object" && last !== null && !this.#reply.sent ? last : undefined;
    for (let at = this.#changes.length - 1; at >= 0; at--) this.#changes[at]!(this);
  }

  setStatus(code: number): void {
    this.#args![0] = code;
  }

  textOf(name: string): string {
    // What Fastify passes are the headers of the reply: `getHeader()` would look for them once more.
    const value = this.#passed === undefined
      ? this.#reply.getHeader(name)
      : (this.#passed as Record<string, unknown>)[name] ?? this.#reply.raw.getHeader(name);
    return toText(value);
  }

  names(): readonly string[] {
    // `getHeaders()` copies all of them.
    if (this.#passed === undefined) return Object.keys(this.#reply.getHeaders());
    const set = this.#reply.raw.getHeaderNames();
    return set.length === 0 ? Object.keys(this.#passed) : [...Object.keys(this.#passed), ...set];
  }

  set(name: string, value: string): void {
    if (this.#passed !== undefined) this.#reply.header(name, value);
    // Without `reply.hijack()` they may still be the handler's own, to which Fastify adds none.
    if (this.#passed === undefined || !(name in this.#passed)) this.#reply.raw.setHeader(name, value);
  }

  valuesOf(name: string): readonly string[] {
    const { raw } = this.#reply;
    const passed = pairsOf(this.#args!.at(-1)).filter(([key]) => key.toLowerCase() === name);
    const values = passed.length > 0 ? passed.map(([, value]) => value) : [raw.getHeader(name) ?? []];
    return values.flat().map(String);
  }

  replace(name: string, value: string | readonly string[]): void {
    const last = this.#args!.length - 1;
    const pairs = pairsOf(this.#args![last]);
    const others = pairs.filter(([key]) => key.toLowerCase() !== name);
    // Node adds what is set here to what is passed, unless that has the header as well.
    if (others.length < pairs.length) {
      this.#args![last] = Array.isArray(this.#args![last]) ? others.flat() : Object.fromEntries(others);
    }
    this.#reply.raw.setHeader(name, value);
  }

  remove(name: string): void {
    this.#reply.removeHeader(name);
    // Older versions of Fastify do not remove headers of Node's response.
    this.#reply.raw.removeHeader(name);
  }
}

/** The value of a header as one text, also where there are several. */
export function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** The headers in an argument of `writeHead()`: an object, or a list of names and values in turns. */
function pairsOf(headers: unknown): [name: string, value: unknown][] {
  if (typeof headers !== "object" || headers === null) return [];
  if (!Array.isArray(headers)) return Object.entries(headers);
  return headers.flatMap((name, at) => at % 2 === 0 ? [[String(name), headers[at + 1]]] : []);
}
