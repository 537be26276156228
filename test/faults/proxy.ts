import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Stands between a process and PostgreSQL and does to their connections what networks do. */
export interface Proxy {
  readonly port: number;
  /** Ends every connection properly, as a restarted load balancer does. */
  cut(): void;
  /** Ends every connection with RST, as a machine that lost power and came back does. */
  reset(): void;
  /** From now on bytes arrive this many milliseconds later, both ways. */
  delay(milliseconds: number): void;
  /** From now on connections stand, and nothing arrives. */
  stall(): void;
  /** Delivers what was held back. */
  resume(): void;
  /**
   * Resets the connection that speaks of `mark` when it commits: before PostgreSQL hears it, or before its answer. The
   * function that it gives tells whether that has happened.
   */
  resetCommitOf(mark: string, at: Direction): () => boolean;
  close(): Promise<void>;
}

type Direction = "before" | "after";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

interface Aim {
  readonly mark: string;
  readonly at: Direction;
  pair?: Pair;
}

/** How a commit looks on the wire: the statement's text on its way there, the command's tag on its way back. */
const COMMIT = { before: Buffer.from("commit\0"), after: Buffer.from("COMMIT\0") };

export async function startProxy(socketPath: string): Promise<Proxy> {
  const pairs = new Set<Pair>();
  let latency = 0;
  let stalled = false;
  const aims = new Set<Aim>();

  const proxy = createServer({ noDelay: true }, (client) => {
    const pair = { client, server: createConnection(socketPath) };
    pairs.add(pair);
    join(pair, "before");
    join(pair, "after");
    if (stalled) hold(pair);
  });

  /** One direction: `before` is from the process to PostgreSQL, `after` is back. */
  function join(pair: Pair, direction: Direction) {
    const [from, to] = direction === "before" ? [pair.client, pair.server] : [pair.server, pair.client];
    let passing: Promise<unknown> = Promise.resolve();
    from.on("data", (chunk: Buffer) => {
      if (isAimedAt(pair, direction, chunk)) {
        reset(pair);
        return;
      }
      if (latency === 0) passing = passing.then(() => to.write(chunk));
      else {
        const arrives = sleep(latency);
        passing = passing.then(() => arrives).then(() => to.write(chunk));
      }
    });
    from.on("error", () => {});
    from.on("close", () => {
      pairs.delete(pair);
      void passing.then(() => to.destroySoon());
    });
  }

  function isAimedAt(pair: Pair, direction: Direction, chunk: Buffer): boolean {
    for (const aim of aims) {
      if (direction === "before" && chunk.includes(aim.mark)) aim.pair = pair;
      if (aim.pair === pair && aim.at === direction && chunk.includes(COMMIT[direction])) return aims.delete(aim);
    }
    return false;
  }

  function reset(pair: Pair) {
    pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.server.destroy();
  }

  function hold({ client, server }: Pair) {
    client.pause();
    server.pause();
  }

  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    port: (proxy.address() as AddressInfo).port,
    cut() {
      for (const { client, server } of pairs) {
        client.end();
        server.end();
      }
    },
    reset() {
      for (const pair of pairs) reset(pair);
    },
    delay(milliseconds) {
      latency = milliseconds;
    },
    stall() {
      stalled = true;
      for (const pair of pairs) hold(pair);
    },
    resume() {
      stalled = false;
      for (const { client, server } of pairs) {
        client.resume();
        server.resume();
      }
    },
    resetCommitOf(mark, at) {
      const aim = { mark, at };
      aims.add(aim);
      return () => !aims.has(aim);
    },
    async close() {
      for (const pair of pairs) reset(pair);
      proxy.close();
      await once(proxy, "close");
    },
  };
}
