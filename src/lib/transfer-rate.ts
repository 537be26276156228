/** The lowest rate at which a peer may take or send what we wait for. */
export interface TransferRate {
  readonly minBytes: number;
  readonly windowMs: number;
}

/** Too little even for a bad line. */
export const MIN_TRANSFER_RATE: TransferRate = { minBytes: 16 * 1024, windowMs: 60_000 };

const SAMPLES_PER_WINDOW = 6;

/** One direction of a connection. */
export interface Transfer {
  /** Bytes transferred so far. */
  bytes(): number;
  /** Whether we wait for the peer; while it waits for us, it may wait as long as we need. */
  isWaiting(): boolean;
}

/**
 * Calls `end` once we have waited for the peer a whole window in which it transferred less than the lowest rate. It
 * counts samples instead of time, because after a pause of this process the peer needs the chance to go on.
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
