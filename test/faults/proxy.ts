import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A proxy in front of PostgreSQL that causes the faults of a network. */
export interface Proxy {
  readonly port: number;
  /** Ends every connection with FIN, like a restarted load balancer. */
  cut(): void;
  /** Ends every connection with RST, like a machine that came back after a power cut. */
  reset(): void;
  /** Delays bytes in both directions from now on. */
  delay(milliseconds: number): void;
  /** Holds all bytes back from now on, and keeps connections open. */
  stall(): void;
  /** Delivers the bytes that were held back. */
  resume(): void;
  /**
   * Resets the connection whose statements contain `mark` when it commits: before PostgreSQL receives the commit, or
   * after it and before the answer. Returns a function that tells whether that has happened.
   */
  resetCommitOf(mark: string, at: Direction): () => boolean;
  close(): Promise<void>;
}

type Direction = "before" | "after";

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

interface ResetRule {
  readonly mark: string;
  readonly at: Direction;
  pair?: Pair;
}

/** A commit on the wire: the text of the statement, and the command tag of its answer. */
const COMMIT = { before: Buffer.from("commit\0"), after: Buffer.from("COMMIT\0") };

export async function startProxy(socketPath: string): Promise<Proxy> {
  const pairs = new Set<Pair>();
  let latency = 0;
  let stalled = false;
  const rules = new Set<ResetRule>();

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
      if (matchesRule(pair, direction, chunk)) {
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

  function matchesRule(pair: Pair, direction: Direction, chunk: Buffer): boolean {
    for (const rule of rules) {
      if (direction === "before" && chunk.includes(rule.mark)) rule.pair = pair;
      if (rule.pair === pair && rule.at === direction && chunk.includes(COMMIT[direction])) return rules.delete(rule);
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
      const rule = { mark, at };
      rules.add(rule);
      return () => !rules.has(rule);
    },
    async close() {
      for (const pair of pairs) reset(pair);
      proxy.close();
      await once(proxy, "close");
    },
  };
}
