import type { Duplex } from "node:stream";

export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly headBytes: number;
  readonly body: Buffer;
  /** The violation of HTTP, if there is one. */
  readonly broken?: string;
  readonly closes: boolean;
}

const brokenAnswer = (broken: string): Answer => ({
  ...{ status: 0, headers: [], headBytes: 0, body: Buffer.alloc(0), closes: true, broken },
});

export const headerOf = ({ headers }: Answer, name: string): string | undefined =>
  headers.find(([known]) => known === name)?.[1];

/** Reads one answer from the bytes received so far; undefined while it is not complete. */
export function readAnswer(
  received: Buffer,
  method: string,
  ended: boolean,
): { answer: Answer; length: number } | undefined {
  const headEnd = received.indexOf("\r\n\r\n");
  if (headEnd === -1)
    return ended
      ? { answer: brokenAnswer("the answer has no end of its headers"), length: received.length }
      : undefined;
  const [first = "", ...lines] = received.toString("latin1", 0, headEnd).split("\r\n");
  const found = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(first);
  if (!found)
    return {
      answer: brokenAnswer(`the first line is ${JSON.stringify(first.slice(0, 100))}`),
      length: received.length,
    };
  const status = Number(found[1]);
  const start = headEnd + 4;
  if (status < 200) {
    const next = readAnswer(received.subarray(start), method, ended);
    return next && { answer: next.answer, length: start + next.length };
  }
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const base = { status, headers, headBytes: start };
  const body = bodyAt(received, start, base, method, ended);
  if (!body)
    return ended
      ? { answer: { ...brokenAnswer("the answer ends early"), status, headers }, length: received.length }
      : undefined;
  const closes = ended || headers.some(([name, value]) => name === "connection" && value.toLowerCase() === "close");
  const odd = lines.find((line) => !/^[\w-]+: ?[\t\x20-\x7e\x80-\xff]*$/.test(line));
  const broken = body.broken ?? (odd === undefined ? undefined : `a header is ${JSON.stringify(odd.slice(0, 100))}`);
  return {
    answer: { ...base, body: body.bytes, closes, ...(broken !== undefined && { broken }) },
    length: start + body.length,
  };
}

function bodyAt(
  received: Buffer,
  start: number,
  { status, headers }: Pick<Answer, "status" | "headers">,
  method: string,
  ended: boolean,
) {
  if (method === "HEAD" || status === 204 || status === 304) return { bytes: Buffer.alloc(0), length: 0 };
  if (headers.some(([name, value]) => name === "transfer-encoding" && value === "chunked"))
    return chunksAt(received, start);
  const lengths = headers.filter(([name]) => name === "content-length").map(([, value]) => value);
  const [length] = lengths;
  if (length === undefined || lengths.length > 1 || !/^\d+$/.test(length)) {
    return ended
      ? {
          bytes: received.subarray(start),
          length: received.length - start,
          broken: "the length of the body is not told",
        }
      : undefined;
  }
  const end = start + Number(length);
  return received.length < end ? undefined : { bytes: received.subarray(start, end), length: Number(length) };
}

function chunksAt(received: Buffer, start: number) {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const line = received.indexOf("\r\n", at);
    if (line === -1) return undefined;
    const size = Number.parseInt(received.toString("latin1", at, line), 16);
    const end = line + 2 + size + 2;
    if (!(received.length >= end)) return undefined;
    if (size === 0) return { bytes: Buffer.concat(chunks), length: end - start };
    chunks.push(received.subarray(line + 2, line + 2 + size));
    at = end;
  }
}

const TIMEOUT_MS = 60_000;

/** A persistent connection for one request after another; it is reopened if a response closes it. */
export class Connection {
  readonly #connect: () => Duplex;
  #stream: Duplex | undefined;

  constructor(connect: () => Duplex) {
    this.#connect = connect;
  }

  async ask(request: Buffer, method: string): Promise<Answer> {
    // A server that has responded may close before it has received everything.
    const stream = (this.#stream ??= this.#connect().on("error", () => {}));
    const answer = await exchange(stream, request, method);
    if (answer.closes || answer.broken !== undefined) this.close();
    return answer;
  }

  close() {
    this.#stream?.destroy();
    this.#stream = undefined;
  }
}

/** Sends bytes on a connection and reads one answer. */
export function exchange(stream: Duplex, request: Buffer, method: string): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  let received: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => settle(brokenAnswer(`no answer within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
  const settle = (answer: Answer) => {
    clearTimeout(timer);
    stream.off("data", onData).off("end", onEnd).off("close", onEnd);
    resolve(answer);
  };
  const read = (ended: boolean) => {
    const found = readAnswer(received, method, ended);
    if (!found) return;
    // Invalid bytes have no method, so the refusal may have a body although HEAD was sent.
    const more = found.length < received.length && !found.answer.closes;
    settle(more ? { ...found.answer, broken: "bytes follow the answer" } : found.answer);
  };
  const onData = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    read(false);
  };
  const onEnd = () => read(true);
  stream.on("data", onData).on("end", onEnd).on("close", onEnd);
  stream.write(request);
  return promise;
}
