import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems choose from for clients and for servers that accept any. */
const [FIRST, LAST] = [10_000, 30_000];
const given = new Set<number>();

/** A port of loopback for a server that must be told its port. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (!given.has(port) && (await isFree(port))) {
      given.add(port);
      return port;
    }
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
