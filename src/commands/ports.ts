import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "#config.ts";

/** A port that no other process can take. */
export interface HeldPort {
  /** Frees the port, to be listened on at once. */
  release(): void;
}

/** Where to listen, and the settings that say so. */
interface Listener {
  readonly host: string;
  readonly port: number;
  readonly hostSetting: string;
  readonly portSetting: string;
  /** What else the port can be set to. */
  readonly otherwise: string;
}

/** Takes the port of HTTP before anything is created, so that a start that cannot listen leaves nothing behind. */
export const holdHttpPort = ({ host, port }: Config): Promise<HeldPort> =>
  hold({ host, port, hostSetting: "FAIRLEAD_HOST", portSetting: "FAIRLEAD_PORT", otherwise: "another port" });

/** The same for SSH; undefined if it is disabled. */
export async function holdSshPort({ sshHost: host, sshPort: port }: Config): Promise<HeldPort | undefined> {
  if (port === "off") return undefined;
  const settings = { hostSetting: "FAIRLEAD_SSH_HOST", portSetting: "FAIRLEAD_SSH_PORT" };
  return hold({ host, port, ...settings, otherwise: "another port, or to off" });
}

async function hold(listener: Listener): Promise<HeldPort> {
  // Until the process can serve them, clients are turned away.
  const server = createServer((socket) => socket.destroy());
  server.listen(listener.port, listener.host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Error(listenProblem(error as NodeJS.ErrnoException, listener), { cause: error });
  }
  // A start that fails for another reason must be able to end.
  server.unref();
  return { release: () => void server.close() };
}

function listenProblem({ code, message }: NodeJS.ErrnoException, listener: Listener): string {
  const { host, port, hostSetting, portSetting, otherwise } = listener;
  switch (String(code)) {
    case "EADDRINUSE":
      return `${portSetting}: port ${port} of ${host} is in use by another program; stop it, or set ${portSetting} to ${otherwise}`;
    case "EACCES":
      return `${portSetting}: this user may not listen on port ${port} of ${host}; set ${portSetting} to a port from 1024 on, with a proxy in front`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${hostSetting}: ${host} is no address of this machine (${code}); set ${hostSetting} to one of its own, such as 127.0.0.1 or 0.0.0.0`;
    default:
      return `${portSetting}: cannot listen on port ${port} of ${host} (${message}); set ${portSetting} to ${otherwise}`;
  }
}
