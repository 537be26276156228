import type { ServerResponse } from "node:http";
import { unavailable } from "#lib/refusal.ts";
import type { Sending } from "./sending.ts";

/** A response that is a stream without an end, such as server-sent events. */
export interface LongLived {
  /** Concurrent connections per process; more are refused with 503. */
  readonly maxConnections: number;
  readonly heartbeatMs: number;
  /** Sent between chunks of the stream, so that a disconnected client is noticed. */
  readonly heartbeat: string;
}

const RETRY_SECONDS = 30;

/** Counts the connections of a long-lived endpoint and keeps them alive. */
export function longLivedConnections({ maxConnections, heartbeatMs, heartbeat }: LongLived, sending: Sending) {
  let open = 0;
  return (raw: ServerResponse) => {
    if (open >= maxConnections) throw unavailable(RETRY_SECONDS);
    open++;
    const timer = setInterval(() => {
      // Before the stream begins there is nothing to keep alive, and unsent data does the same.
      if (raw.headersSent && raw.socket?.writableLength === 0) raw.write(heartbeat);
    }, heartbeatMs).unref();
    sending.onceClosed(raw, () => {
      open--;
      clearInterval(timer);
    });
  };
}
