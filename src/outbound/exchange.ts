import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { OutboundError } from "./failure.ts";

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Exchange {
  readonly url: URL;
  readonly method: Method;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
  /** Certificates to trust instead of the system's, as PEM. */
  readonly ca: string | undefined;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The URL that answered, after redirects. */
  readonly url: string;
}

/** Sends one request on a connection of its own, and reads the whole answer within its limit. */
export async function exchange(given: Exchange, lookup: LookupFunction): Promise<Answer> {
  const request = start(given, lookup);
  try {
    const response = await answerTo(request, given.body);
    const body = await bodyOf(response, given.maxBytes);
    return { status: response.statusCode ?? 0, headers: response.headers, body, url: given.url.href };
  } finally {
    request.destroy();
  }
}

function start({ url, method, headers, ca, signal }: Exchange, lookup: LookupFunction): ClientRequest {
  // Without an agent no connection is reused past its check, and no proxy is taken from the environment.
  const options = { method, headers, signal, lookup, agent: false } as const;
  return url.protocol === "https:"
    ? requestHttps(url, { ...options, ...(ca !== undefined && { ca }) })
    : requestHttp(url, options);
}

const answerTo = (request: ClientRequest, body: string | Buffer | undefined) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    // Stays attached: a connection may also fail after its answer.
    request.on("error", reject);
    request.once("response", resolve);
    request.end(body);
  });

async function bodyOf(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new OutboundError("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
