import { once } from "node:events";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { request, type IncomingMessage } from "node:http";
import { request as requestTls } from "node:https";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { HOST, type Proxy } from "./proxy.ts";

export const VERSIONS = ["HTTP/1.1", "HTTP/2"] as const;
export type Version = (typeof VERSIONS)[number];

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** The address of loopback that the client connects from. */
  readonly from?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request of which the client decides when it goes on. */
export interface OpenRequest {
  readonly body: Writable;
  /** Resolves once the headers have come. */
  readonly response: Promise<{ status: number; headers: IncomingHttpHeaders; body: Readable }>;
  close(): void;
}

export type Client = ReturnType<typeof clientOf>;

/** A client that trusts the certificate of a proxy on loopback and calls it by its name. */
export function clientOf({ ports: { http, https: port } }: Proxy, certificate: string) {
  const tls = { host: "127.0.0.1", port, servername: HOST, ca: certificate };
  const authority = `${HOST}:${port}`;

  const open = (version: Version, target: string, sent: Omit<Sent, "body"> = {}): OpenRequest =>
    version === "HTTP/2" ? openHttp2(target, sent) : openHttp1(target, sent);

  function openHttp1(target: string, { method = "GET", headers, from }: Sent): OpenRequest {
    const asked = requestTls({
      ...{
        ...tls,
        path: target,
        method,
        agent: false,
        maxHeaderSize: 2 ** 20,
        headers: { host: authority, ...headers },
      },
      ...(from !== undefined && { localAddress: from }),
    });
    // A server that refuses a body need not read it.
    asked.on("error", () => {});
    const response = once(asked, "response").then(([answer]: IncomingMessage[]) => ({
      status: answer?.statusCode ?? 0,
      headers: answer?.headers ?? {},
      body: answer as Readable,
    }));
    response.catch(() => {});
    return { body: asked, response, close: () => asked.destroy() };
  }

  function openHttp2(target: string, { method = "GET", headers, from }: Sent): OpenRequest {
    const session = connectHttp2(`https://${authority}`, {
      settings: { maxHeaderListSize: 2 ** 20 },
      createConnection: () =>
        connectTls({ ...tls, ALPNProtocols: ["h2"], ...(from !== undefined && { localAddress: from }) }),
    });
    session.on("error", () => {});
    const stream = session.request({ ":method": method, ":path": target, ...headers }, { endStream: method === "GET" });
    stream.on("error", () => {}).on("close", () => session.close());
    const response = once(stream, "response").then(([headers = {}]: IncomingHttpHeaders[]) => ({
      status: Number(headers[":status"]),
      headers,
      body: stream as Readable,
    }));
    response.catch(() => {});
    return { body: stream, response, close: () => session.destroy() };
  }

  return {
    authority,
    open,
    async ask(version: Version, target: string, { body, ...sent }: Sent = {}): Promise<Reply> {
      const asked = open(version, target, sent);
      asked.body.end(body);
      const answer = await asked.response;
      const reply = { status: answer.status, headers: answer.headers, text: await text(answer.body) };
      asked.close();
      return reply;
    },
    /** Asks without TLS. */
    async askPlain(target: string): Promise<Omit<Reply, "text">> {
      const asked = request({ host: "127.0.0.1", port: http, path: target, agent: false, headers: { host: HOST } });
      asked.end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      answer.resume();
      return { status: answer.statusCode ?? 0, headers: answer.headers };
    },
  };
}
