import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import ssh2 from "ssh2";
import type { Fixture } from "./fixture.ts";

/** Attackers are in another network than honest callers. */
const ATTACKING_ADDRESS = "127.0.0.2";
const TIMEOUT_MS = 60_000;

export interface HostileRequest {
  readonly path: string;
  readonly method?: string;
  readonly token?: string;
  readonly body?: object;
}

/** A client that sends many requests and reads the answers. */
export function hostileApi({ installation }: Fixture) {
  const agent = new Agent({ keepAlive: true, localAddress: ATTACKING_ADDRESS, maxSockets: 200 });
  const { url } = installation.server();
  return {
    /** The status and size of an answer. */
    async send({ path, method = "GET", token, body }: HostileRequest) {
      const headers = {
        ...(token !== undefined && { "private-token": token }),
        ...(body && { "content-type": "application/json" }),
      };
      const sent = request(`${url}/api/v4${path}`, { agent, method, headers });
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error("no answer in time")));
      sent.end(body && JSON.stringify(body));
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      let bytes = 0;
      for await (const chunk of answer) bytes += (chunk as Buffer).length;
      return { status: answer.statusCode ?? 0, bytes };
    },
    close: () => agent.destroy(),
  };
}

/** Sockets that send a request each and read nothing. */
export async function silentSockets({ installation }: Fixture, count: number, bytes: string): Promise<Socket[]> {
  const { port } = new URL(installation.server().url);
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress: ATTACKING_ADDRESS });
      socket.on("error", () => {});
      socket.pause();
      await once(socket, "connect").catch(() => {});
      socket.write(bytes);
      return socket;
    }),
  );
}

/** Authenticated connections whose sessions start a command and send nothing more. */
export async function silentSessions(
  { installation, attacker }: Fixture,
  { connections, sessions, command }: { connections: number; sessions: number; command: string },
): Promise<{ close(): void }> {
  const clients = Array.from({ length: connections }, () => new ssh2.Client());
  for (const client of clients) {
    client.on("error", () => {});
    client.connect({
      host: "127.0.0.1",
      port: installation.sshPort,
      localAddress: ATTACKING_ADDRESS,
      username: "git",
      privateKey: attacker.privateKey,
    });
    await once(client, "ready");
    for (let n = 0; n < sessions; n++) client.exec(command, () => {});
  }
  return { close: () => clients.forEach((client) => client.destroy()) };
}

/** Unauthenticated connections that request one key exchange after another. */
export async function rekeyingConnections(
  { installation }: Fixture,
  count: number,
  algorithm: ssh2.KexAlgorithm,
): Promise<{ exchanges(): number; close(): void }> {
  let exchanges = 0;
  const clients = Array.from({ length: count }, () => {
    const client = new ssh2.Client();
    client.on("error", () => {});
    client.on("handshake", () => {
      exchanges++;
      setImmediate(() => rekey(client));
    });
    client.connect({
      host: "127.0.0.1",
      port: installation.sshPort,
      localAddress: ATTACKING_ADDRESS,
      username: "git",
      // Offers nothing, so that it never authenticates.
      authHandler: () => {},
      algorithms: { kex: [algorithm] },
    });
    return client;
  });
  return { exchanges: () => exchanges, close: () => clients.forEach((client) => client.destroy()) };
}

/** Uses an internal of ssh2, whose clients never request another key exchange themselves. */
function rekey(client: ssh2.Client) {
  const { ["_protocol"]: protocol } = client as unknown as { readonly _protocol?: { rekey(): void } };
  try {
    protocol?.rekey();
  } catch {
    // The connection was ended.
  }
}
