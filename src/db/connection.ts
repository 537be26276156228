import { Client, type ClientConfig } from "pg";
import type { Log } from "./log.ts";

/** One connection that many callers share by pipelining; when it breaks, another takes its place. */
export interface Connection {
  readonly client: () => Client;
  /** False from a break until the next connection stands, so that callers turn elsewhere or are refused at once. */
  readonly usable: () => boolean;
  /** Gives up a connection that a caller saw break. */
  drop(client: Client): void;
  close(): Promise<void>;
}

const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;

export function keepConnected(config: ClientConfig, log: Log): Connection {
  let closed = false;
  let pause = FIRST_PAUSE;
  let timer: NodeJS.Timeout | undefined;
  // Statements sent before the first connection stands are kept by the driver until it does.
  let usable = true;
  let client = connect();

  function connect(): Client {
    const fresh = new Client({ ...config, pipeline: true });
    fresh.on("error", (error) => {
      log.warn({ reason: error.message }, "A shared database connection broke");
      drop(fresh);
    });
    fresh.once("end", () => {
      usable = false;
      if (closed) return;
      timer = setTimeout(() => (client = connect()), pause).unref();
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    });
    fresh.connect().then(
      () => {
        pause = FIRST_PAUSE;
        usable = true;
      },
      (error: Error) => log.warn({ reason: error.message }, "No shared database connection"),
    );
    return fresh;
  }

  function drop(broken: Client) {
    if (broken !== client) return;
    usable = false;
    void broken.end();
  }

  return {
    client: () => client,
    usable: () => usable,
    drop,
    async close() {
      closed = true;
      usable = false;
      clearTimeout(timer);
      await client.end();
    },
  };
}
