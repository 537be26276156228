import { unavailable } from "./refusal.ts";

/** How many claims may hold a slot at once, how many may wait for one, and for how long. */
export interface SemaphoreLimits {
  readonly slots: number;
  readonly maxWaiting?: number;
  /** Of one queue. */
  readonly maxWaitingEach?: number;
  readonly maxWaitMs?: number;
}

/** Who wants a slot. */
export interface Claim {
  /** Claims of one queue are granted in their order; the queues take turns. */
  readonly queue: string;
  /** Each caps how many slots the claims that name it hold together; a claim waits while any of its shares is full. */
  readonly shares: readonly { readonly name: string; readonly max: number }[];
  readonly signal?: AbortSignal | undefined;
}

/** Gives the slot back; a second call does nothing. */
export type Release = () => void;

export interface FairSemaphore {
  /** Resolves once a slot is granted; refuses when the queue is full or the wait too long. */
  acquire(claim: Claim): Promise<Release>;
  usage(): { readonly slots: number; readonly inUse: number; readonly waiting: number };
}

interface Waiter {
  readonly claim: Claim;
  grant(): void;
}

/** A semaphore whose slots are granted round robin, so that no queue waits behind all claims of another one. */
export function fairSemaphore(limits: SemaphoreLimits): FairSemaphore {
  const { slots: count, maxWaiting = Infinity, maxWaitingEach = maxWaiting, maxWaitMs } = limits;
  const slots = slotCounter(count);
  const queues = waitingQueues();

  function take(claim: Claim): Release {
    slots.take(claim);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      slots.release(claim);
      queues.grant(slots.fits);
    };
  }

  function waitInQueue(claim: Claim): Promise<Release> {
    const { signal } = claim;
    if (queues.total() >= maxWaiting || queues.lengthOf(claim.queue) >= maxWaitingEach) {
      return Promise.reject(unavailable());
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        queues.remove(waiter);
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const giveUp = (reason: unknown) => {
        leave();
        reject(reason);
        // Claims behind it in its queue may have waited for this one only.
        queues.grant(slots.fits);
      };
      const onAbort = () => giveUp(signal?.reason);
      const timer = maxWaitMs === undefined ? undefined : setTimeout(() => giveUp(unavailable()), maxWaitMs);
      const waiter: Waiter = {
        claim,
        grant() {
          leave();
          resolve(take(claim));
        },
      };
      signal?.addEventListener("abort", onAbort);
      queues.add(waiter);
    });
  }

  return {
    async acquire(claim) {
      claim.signal?.throwIfAborted();
      // Claims that already wait in this queue come first.
      return slots.fits(claim) && queues.lengthOf(claim.queue) === 0 ? take(claim) : waitInQueue(claim);
    },
    usage: () => ({ slots: count, inUse: count - slots.free(), waiting: queues.total() }),
  };
}

/** Counts the free slots, and those that each share holds. */
function slotCounter(slots: number) {
  const held = new Map<string, number>();
  let free = slots;
  return {
    free: () => free,
    fits: ({ shares }: Claim) => free > 0 && shares.every(({ name, max }) => (held.get(name) ?? 0) < max),
    take({ shares }: Claim) {
      free--;
      for (const { name } of shares) held.set(name, (held.get(name) ?? 0) + 1);
    },
    release({ shares }: Claim) {
      free++;
      for (const { name } of shares) {
        const left = (held.get(name) ?? 1) - 1;
        if (left === 0) held.delete(name);
        else held.set(name, left);
      }
    },
  };
}

/** The claims that wait, in a queue each; the queue to be served next comes first. */
function waitingQueues() {
  const queues = new Map<string, Waiter[]>();
  let total = 0;
  return {
    total: () => total,
    lengthOf: (name: string) => queues.get(name)?.length ?? 0,
    add(waiter: Waiter) {
      const { queue: name } = waiter.claim;
      const queue = queues.get(name) ?? [];
      queue.push(waiter);
      queues.set(name, queue);
      total++;
    },
    remove(waiter: Waiter) {
      const { queue: name } = waiter.claim;
      const queue = queues.get(name) ?? [];
      queue.splice(queue.indexOf(waiter), 1);
      if (queue.length === 0) queues.delete(name);
      total--;
    },
    grant(fits: (claim: Claim) => boolean) {
      // A queue that was served moves to the end, and this loop reaches it again.
      for (const [name, queue] of queues) {
        const [first] = queue;
        if (!first || !fits(first.claim)) continue;
        queues.delete(name);
        queues.set(name, queue);
        first.grant();
      }
    },
  };
}

type Run = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs up to `slots` pieces of work at once and queues up to `maxWaiting` more; the rest is refused. */
export function semaphore(slots: number, maxWaiting = Infinity): Run {
  const { acquire } = fairSemaphore({ slots, maxWaiting });
  return async (work) => {
    const release = await acquire({ queue: "", shares: [] });
    try {
      return await work();
    } finally {
      release();
    }
  };
}

/** Runs the work of each key one at a time; up to `maxWaiting` more of a key may wait. */
export function mutexByKey(maxWaiting: number): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const mutexes = new Map<string, { readonly run: Run; users: number }>();
  return async (key, work) => {
    const mutex = mutexes.get(key) ?? { run: semaphore(1, maxWaiting), users: 0 };
    mutexes.set(key, mutex);
    mutex.users++;
    try {
      return await mutex.run(work);
    } finally {
      if (--mutex.users === 0) mutexes.delete(key);
    }
  };
}
