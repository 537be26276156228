import { MIN_TRANSFER_RATE, type Transfer, type TransferRate, watchTransfers } from "#lib/transfer-rate.ts";
import { readGitCommand } from "./commands.ts";

/** The minimum rates at which a client receives our output and sends what we wait for. */
export interface SessionRates {
  /** For receiving our output. */
  readonly receive: TransferRate;
  /** For sending what a fetch needs. */
  readonly fetch: TransferRate;
  /** For sending what a push needs. */
  readonly push: TransferRate;
}

/**
 * A client may be silent for minutes: before a fetch git walks its history, and before a push it runs the user's hook
 * and compresses the pack.
 */
export const SESSION_RATES: SessionRates = {
  receive: MIN_TRANSFER_RATE,
  fetch: { ...MIN_TRANSFER_RATE, windowMs: 2 * 60_000 },
  push: { ...MIN_TRANSFER_RATE, windowMs: 10 * 60_000 },
};

/** The bytes that a client received and sent. */
export interface WatchedTransfers {
  readonly received: Transfer;
  readonly sent: Transfer;
}

/** Calls `end` for a client that receives or sends too slowly; the returned function ends the watch. */
export function watchSession(
  { received, sent }: WatchedTransfers,
  command: string | undefined,
  end: () => void,
  rates: SessionRates,
): () => void {
  const isPush = command !== undefined && readGitCommand(command)?.service === "receive-pack";
  const stops = [
    watchTransfers([received], end, rates.receive),
    watchTransfers([sent], end, isPush ? rates.push : rates.fetch),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
