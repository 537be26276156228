import { availableParallelism } from "node:os";
import { BACKGROUND, type Consumer } from "#lib/consumer.ts";
import { type Claim, type FairSemaphore, fairSemaphore } from "#lib/semaphore.ts";

/**
 * What a git process is for, which decides how many run at once and how much memory each may allocate:
 * `short` looks something up; `heavy` compares files or walks the history, which takes memory; `transfer` lasts as long
 * as its client likes, so nothing else may wait for it; `batch` stays alive to read objects; `maintenance` packs.
 */
export type SlotClass = "short" | "heavy" | "transfer" | "batch" | "maintenance";

export interface SlotLimits {
  /** Transfers at once, and as many short processes. */
  readonly slots: number;
  /** The number of idle batch processes to keep. */
  readonly idleBatches?: number;
  /** The bytes that a transfer or maintenance process may allocate. */
  readonly transferMemory?: number;
}

interface SlotClassLimits {
  readonly memory: number;
  /** Undefined if the caller limits the number of processes. */
  readonly semaphore?: FairSemaphore;
  claimOf(consumer: Consumer): Omit<Claim, "signal">;
}

export const IDLE_BATCHES_PER_STORAGE = 16;
/** A clone or a push of 2 GB allocates 60 MB; only millions of objects take more. */
const TRANSFER_MEMORY_BYTES = 2 * 2 ** 30;
/** A diff of two files of 10 MB allocates 90 MB; a walk through a million commits, not packed yet, more than 256 MB. */
const HEAVY_MEMORY_BYTES = 512 * 2 ** 20;
const SHORT_MEMORY_BYTES = 256 * 2 ** 20;
const MIN_HEAVY_SLOTS = 8;
const WAITING_PER_SLOT = 8;
const MAX_WAIT_MS = 30_000;
/** A clone may wait for minutes behind others of its own network. */
const MAX_TRANSFER_WAIT_MS = 120_000;

/** The number of git processes of each class, shared between consumers. */
export function gitSlots({
  slots,
  idleBatches = IDLE_BATCHES_PER_STORAGE,
  transferMemory = TRANSFER_MEMORY_BYTES,
}: SlotLimits): Readonly<Record<SlotClass, SlotClassLimits>> {
  const heavySlots = Math.min(slots, Math.max(MIN_HEAVY_SLOTS, availableParallelism()));
  const maxWaiting = slots * WAITING_PER_SLOT;
  const shared = (slots: number, maxWaitMs: number) => ({
    semaphore: fairSemaphore({ slots, maxWaiting, maxWaitingEach: partOf(maxWaiting, 4), maxWaitMs }),
    claimOf: (consumer: Consumer) => claimOf(consumer, slots),
  });
  return {
    short: { memory: SHORT_MEMORY_BYTES, ...shared(slots, MAX_WAIT_MS) },
    heavy: { memory: HEAVY_MEMORY_BYTES, ...shared(heavySlots, MAX_WAIT_MS) },
    transfer: { memory: transferMemory, ...shared(slots, MAX_TRANSFER_WAIT_MS) },
    // A batch process serves all consumers and is mostly idle, so the one that started it must not be charged.
    batch: { memory: SHORT_MEMORY_BYTES, ...shared(slots + idleBatches, MAX_WAIT_MS), claimOf: uncapped },
    maintenance: { memory: transferMemory, claimOf: uncapped },
  };
}

const partOf = (all: number, divisor: number) => Math.max(1, Math.floor(all / divisor));

/**
 * A principal holds at most a quarter of the slots, and so do all anonymous callers of a network together. A network
 * holds at most half, since one person may have several principals.
 */
function claimOf(consumer: Consumer, slots: number): Omit<Claim, "signal"> {
  if (consumer === BACKGROUND) return uncapped(consumer);
  const { queue } = uncapped(consumer);
  return {
    queue,
    shares: [
      { name: queue, max: partOf(slots, 4) },
      { name: `network ${consumer.network}`, max: partOf(slots, 2) },
    ],
  };
}

const uncapped = ({ principal, network }: Consumer) => ({ queue: principal ?? `anonymous ${network}`, shares: [] });
