import type { ServerResponse } from "node:http";
import { unavailable } from "#lib/refusal.ts";
import type { Sending } from "./sending.ts";

/** An answer that is a stream without an end, such as one of events. */
export interface LongLived {
  /** Connections that a process serves at once; more are refused with 503. */
  readonly maxConnections: number;
  readonly heartbeatMs: number;
  /** What may stand between two chunks of the stream, sent so that a peer that is gone is noticed. */
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
      // Before the stream begins there is nothing to keep alive, and what waits to be sent does so itself.
      if (raw.headersSent && raw.socket?.writableLength === 0) raw.write(heartbeat);
    }, heartbeatMs).unref();
    sending.onceClosed(raw, () => {
      open--;
      clearInterval(timer);
    });
  };
}
