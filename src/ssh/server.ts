import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import ssh2, { type ServerConfig } from "ssh2";
import { minorCollector } from "#lib/gc.ts";
import type { Services } from "#services.ts";
import { admission } from "./admission.ts";
import { openConnection } from "./connection.ts";
import { ensureHostKeys, type HostKey } from "./host-keys.ts";
import { SESSION_RATES, type SessionRates } from "./session-timeouts.ts";

const KEEPALIVE_INTERVAL_MS = 15_000;
const MAX_MISSED_KEEPALIVES = 4;
/** How long sessions, and pushes, may go on when the process is asked to stop. */
const STOP_TIMEOUT_MS = 10_000;
const PUSH_STOP_TIMEOUT_MS = 60_000;

export interface RunningSsh {
  readonly port: number;
  readonly hostKeys: readonly HostKey[];
  /** The number of open connections. */
  connections(): number;
  stop(): Promise<void>;
}

interface SshOptions {
  readonly host: string;
  readonly port: number;
  readonly rates?: SessionRates;
  /** Called when everything else is done. */
  readonly beforeListening?: () => void;
}

/** Serves git over SSH. */
export async function startSsh(
  services: Services,
  { host, port, rates = SESSION_RATES, beforeListening }: SshOptions,
): Promise<RunningSsh> {
  const hostKeys = await ensureHostKeys(services.config.dataDir);
  const open = new Map<string, ReturnType<typeof openConnection>>();
  const gate = admission(services);
  const countBytes = minorCollector();

  // ssh2 reports a client after its first bytes, when the connection is registered under its address.
  const ssh = new ssh2.Server(protocolOptions(hostKeys), (client, { ip, port }) =>
    open.get(`${ip} ${port}`)?.join(client),
  );

  const listener = createServer((socket: Socket) => {
    socket.on("error", () => {});
    const { remoteAddress, remotePort } = socket;
    const admitted = remoteAddress === undefined ? undefined : gate.admit(remoteAddress);
    if (!admitted) {
      services.metrics.ssh.connectionsRefused.inc();
      return void socket.destroy();
    }
    const name = `${remoteAddress} ${remotePort}`;
    open.set(name, openConnection(services, socket, admitted, countBytes, rates));
    socket.once("close", () => open.delete(name));
    ssh.injectSocket(socket);
  });
  beforeListening?.();
  listener.listen(port, host);
  await once(listener, "listening");

  return {
    port: (listener.address() as AddressInfo).port,
    hostKeys,
    connections: () => open.size,
    async stop() {
      const closed = once(listener, "close");
      listener.close();
      for (const connection of open.values()) connection.endWhenIdle();
      const began = Date.now();
      const deadline = setInterval(() => {
        const grace = services.lifecycle.pushes > 0 ? PUSH_STOP_TIMEOUT_MS : STOP_TIMEOUT_MS;
        if (Date.now() - began > grace) for (const connection of open.values()) connection.end();
      }, 250);
      await closed;
      clearInterval(deadline);
    },
  };
}

const protocolOptions = (hostKeys: readonly HostKey[]): ServerConfig => ({
  hostKeys: hostKeys.map(({ privateKey }) => privateKey),
  ident: "Fairlead",
  keepaliveInterval: KEEPALIVE_INTERVAL_MS,
  keepaliveCountMax: MAX_MISSED_KEEPALIVES,
  algorithms: {
    // Anonymous clients make us compute these; larger curves and finite fields take 1 to 4 ms instead of 0.2.
    kex: ["curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256"],
    serverHostKey: ["ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256"],
    // Accelerated by the processor; ChaCha20, which OpenSSH prefers, would run in JavaScript.
    cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr"],
    hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
    // Packs are already compressed.
    compress: ["none"],
  },
});
