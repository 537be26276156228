import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import ssh2 from "ssh2";
import type { World } from "./world.ts";

/** Attackers come from another network than honest callers. */
const ATTACKING_ADDRESS = "127.0.0.2";
const TIMEOUT_MS = 60_000;

/** A client that asks the API again and again, and reads what it gets. */
export function hostileApi({ installation }: World) {
  const agent = new Agent({ keepAlive: true, localAddress: ATTACKING_ADDRESS, maxSockets: 200 });
  const { url } = installation.server();
  return {
    /** The status of an answer that is read to its end, and its bytes. */
    async get(path: string): Promise<{ status: number; bytes: number }> {
      const asked = request(`${url}/api/v4${path}`, { agent });
      asked.setTimeout(TIMEOUT_MS, () => asked.destroy(new Error("no answer in time"))).end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      let bytes = 0;
      for await (const chunk of answer) bytes += (chunk as Buffer).length;
      return { status: answer.statusCode ?? 0, bytes };
    },
    close: () => agent.destroy(),
  };
}

/** Sockets that send a request each and read nothing. */
export async function silentSockets({ installation }: World, count: number, bytes: string): Promise<Socket[]> {
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

/** Connections that are signed in by key, each with sessions that run a command and say nothing more. */
export async function silentSessions(
  { installation, attacker }: World,
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

/** Connections that have proven nothing and ask for one key exchange after another. */
export async function rekeyingConnections(
  { installation }: World,
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
      // It never comes to signing in: nothing is offered.
      authHandler: () => {},
      algorithms: { kex: [algorithm] },
    });
    return client;
  });
  return { exchanges: () => exchanges, close: () => clients.forEach((client) => client.destroy()) };
}

/** Clients of this library never ask for another key exchange by themselves, so its inside is asked to. */
function rekey(client: ssh2.Client) {
  const { ["_protocol"]: protocol } = client as unknown as { readonly _protocol?: { rekey(): void } };
  try {
    protocol?.rekey();
  } catch {
    // The connection was ended.
  }
}
