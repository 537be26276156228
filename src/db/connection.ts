import { Client, type ClientConfig } from "pg";
import type { Log } from "./log.ts";

/** One connection that many callers share by pipelining; it is replaced when it breaks. */
export interface Connection {
  readonly client: () => Client;
  /** False while it reconnects, so that callers use another connection or are refused at once. */
  readonly usable: () => boolean;
  /** Replaces the connection after a caller saw it break. */
  drop(client: Client): void;
  close(): Promise<void>;
}

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 2_000;

export function keepConnected(config: ClientConfig, log: Log): Connection {
  let closed = false;
  let pause = MIN_BACKOFF_MS;
  let timer: NodeJS.Timeout | undefined;
  // The driver queues statements that are sent before the first connection is established.
  let usable = true;
  let client = connect();

  function connect(): Client {
    const fresh = new Client({ ...config, pipeline: true });
    fresh.on("error", (error) => {
      log.warn({ reason: error.message }, "lost a shared database connection");
      drop(fresh);
    });
    fresh.once("end", () => {
      usable = false;
      if (closed) return;
      timer = setTimeout(() => (client = connect()), pause).unref();
      pause = Math.min(pause * 2, MAX_BACKOFF_MS);
    });
    fresh.connect().then(
      () => {
        pause = MIN_BACKOFF_MS;
        usable = true;
      },
      (error: Error) => log.warn({ reason: error.message }, "could not open a shared database connection"),
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
