import { MIN_TRANSFER_RATE, type Transfer, type TransferRate, watchTransfers } from "#lib/transfer-rate.ts";
import { readGitCommand } from "./commands.ts";

/** The lowest rates of a session: at which a client takes what we have, and sends what we wait for. */
export interface SessionRates {
  readonly taking: TransferRate;
  readonly fetching: TransferRate;
  readonly pushing: TransferRate;
}

/**
 * While a session is open and silent, git walks its own history before it fetches, and before it pushes it runs the
 * hook of its user and compresses the pack, which takes minutes in large repositories.
 */
export const SESSION_RATES: SessionRates = {
  taking: MIN_TRANSFER_RATE,
  fetching: { ...MIN_TRANSFER_RATE, windowMs: 2 * 60_000 },
  pushing: { ...MIN_TRANSFER_RATE, windowMs: 10 * 60_000 },
};

/** Calls `end` for a client that neither takes nor sends enough; the returned function ends the watch. */
export function watchSession(
  { taken, sent }: { readonly taken: Transfer; readonly sent: Transfer },
  command: string | undefined,
  end: () => void,
  { taking, fetching, pushing }: SessionRates,
): () => void {
  const isPush = command !== undefined && readGitCommand(command)?.service === "receive-pack";
  const stops = [watchTransfers([taken], end, taking), watchTransfers([sent], end, isPush ? pushing : fetching)];
  return () => {
    for (const stop of stops) stop();
  };
}
