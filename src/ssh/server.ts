import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import ssh2 from "ssh2";
import { youngGarbage } from "#lib/young-garbage.ts";
import type { Services } from "#services.ts";
import { admission } from "./admission.ts";
import { openConnection } from "./connection.ts";
import { ensureHostKeys, type HostKey } from "./host-keys.ts";
import { SESSION_RATES, type SessionRates } from "./session-timeouts.ts";

const KEEPALIVE = 15_000;
const KEEPALIVES_MISSED = 4;
/** How long what runs may go on when the process is asked to stop, and how long a push. */
const GRACE = 10_000;
const GRACE_OF_PUSHES = 60_000;

export interface RunningSsh {
  readonly port: number;
  readonly hostKeys: readonly HostKey[];
  /** How many are open. */
  connections(): number;
  stop(): Promise<void>;
}

/** Serves git over SSH. */
export async function startSsh(
  services: Services,
  { host, port, rates = SESSION_RATES }: { host: string; port: number; rates?: SessionRates },
): Promise<RunningSsh> {
  const hostKeys = await ensureHostKeys(services.config.dataDir);
  const open = new Map<string, ReturnType<typeof openConnection>>();
  const gate = admission(services);
  const passed = youngGarbage();

  const ssh = new ssh2.Server(
    {
      hostKeys: hostKeys.map(({ privateKey }) => privateKey),
      ident: "Fairlead",
      keepaliveInterval: KEEPALIVE,
      keepaliveCountMax: KEEPALIVES_MISSED,
      algorithms: {
        // Anonymous clients make us compute these: the larger curves and the finite fields take 1 to 4 ms instead of 0.2.
        kex: ["curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256"],
        serverHostKey: ["ssh-ed25519", "rsa-sha2-512", "rsa-sha2-256"],
        // Those that the processor does; ChaCha20, which OpenSSH would like best, would be done in JavaScript.
        cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr"],
        hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
        // Packs are compressed already.
        compress: ["none"],
      },
    },
    // Nothing was read of it before it named itself, so that it is open and known by its address.
    (client, { ip, port }) => open.get(`${ip} ${port}`)?.join(client),
  );

  const listener = createServer((socket: Socket) => {
    socket.on("error", () => {});
    const { remoteAddress, remotePort } = socket;
    const admitted = remoteAddress === undefined ? undefined : gate.admit(remoteAddress);
    if (!admitted) return void socket.destroy();
    const name = `${remoteAddress} ${remotePort}`;
    open.set(name, openConnection(services, socket, admitted, passed, rates));
    socket.once("close", () => open.delete(name));
    ssh.injectSocket(socket);
  });
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
        const grace = services.lifecycle.pushes > 0 ? GRACE_OF_PUSHES : GRACE;
        if (Date.now() - began > grace) for (const connection of open.values()) connection.end();
      }, 250);
      await closed;
      clearInterval(deadline);
    },
  };
}
