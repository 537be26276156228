/** The lowest rate at which a peer may read or send while we wait for it. */
export interface TransferRate {
  readonly minBytes: number;
  readonly windowMs: number;
}

/** Lower than even a bad connection needs. */
export const MIN_TRANSFER_RATE: TransferRate = { minBytes: 16 * 1024, windowMs: 60_000 };

const SAMPLES_PER_WINDOW = 6;

/** One direction of a connection. */
export interface Transfer {
  /** Bytes transferred so far. */
  bytes(): number;
  /** Whether we wait for the peer; while the peer waits for us, no rate applies. */
  isWaiting(): boolean;
}

/**
 * Calls `end` once a peer that we wait for has transferred less than the lowest rate for a whole window. It counts
 * samples instead of time, so that after a pause of this process the peer gets the chance to continue.
 */
export function watchTransfers(
  transfers: readonly Transfer[],
  end: () => void,
  { minBytes, windowMs }: TransferRate = MIN_TRANSFER_RATE,
): () => void {
  const watched = transfers.map((transfer) => ({ transfer, from: transfer.bytes(), samples: 0 }));
  const timer = setInterval(() => {
    for (const each of watched) {
      const bytes = each.transfer.bytes();
      if (!each.transfer.isWaiting() || bytes - each.from >= minBytes) {
        each.from = bytes;
        each.samples = 0;
      } else if (++each.samples === SAMPLES_PER_WINDOW) {
        end();
      }
    }
  }, windowMs / SAMPLES_PER_WINDOW).unref();
  return () => clearInterval(timer);
}
