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
}

interface Waiter {
  readonly claim: Claim;
  grant(): void;
}

/** A semaphore whose slots are granted round robin, so that no queue waits behind all claims of another one. */
export function fairSemaphore(limits: SemaphoreLimits): FairSemaphore {
  const { slots, maxWaiting = Infinity, maxWaitingEach = maxWaiting, maxWaitMs } = limits;
  const held = new Map<string, number>();
  /** The next to be served comes first. */
  const queues = new Map<string, Waiter[]>();
  let free = slots;
  let waiting = 0;

  const fits = ({ shares }: Claim) => free > 0 && shares.every(({ name, max }) => (held.get(name) ?? 0) < max);

  function take({ shares }: Claim): Release {
    free--;
    for (const { name } of shares) held.set(name, (held.get(name) ?? 0) + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      free++;
      for (const { name } of shares) {
        const left = (held.get(name) ?? 1) - 1;
        if (left === 0) held.delete(name);
        else held.set(name, left);
      }
      grantWaiting();
    };
  }

  function grantWaiting() {
    // A queue that was served goes to the end, where this loop finds it again.
    for (const [name, queue] of queues) {
      const [first] = queue;
      if (!first || !fits(first.claim)) continue;
      queues.delete(name);
      queues.set(name, queue);
      first.grant();
    }
  }

  function leaveQueue(waiter: Waiter) {
    const { queue: name } = waiter.claim;
    const queue = queues.get(name) ?? [];
    queue.splice(queue.indexOf(waiter), 1);
    if (queue.length === 0) queues.delete(name);
    waiting--;
  }

  function waitInQueue(claim: Claim): Promise<Release> {
    const { signal, queue: name } = claim;
    const queue = queues.get(name) ?? [];
    if (waiting >= maxWaiting || queue.length >= maxWaitingEach) return Promise.reject(unavailable());
    return new Promise((resolve, reject) => {
      const leave = () => {
        leaveQueue(waiter);
        clearTimeout(timer);
        signal?.removeEventListener("abort", aborted);
      };
      const giveUp = (reason: unknown) => {
        leave();
        reject(reason);
        // It may have been all that those behind it in its queue waited for.
        grantWaiting();
      };
      const aborted = () => giveUp(signal?.reason);
      const timer = maxWaitMs === undefined ? undefined : setTimeout(() => giveUp(unavailable()), maxWaitMs);
      const waiter: Waiter = {
        claim,
        grant() {
          leave();
          resolve(take(claim));
        },
      };
      signal?.addEventListener("abort", aborted);
      queue.push(waiter);
      queues.set(name, queue);
      waiting++;
    });
  }

  return {
    async acquire(claim) {
      claim.signal?.throwIfAborted();
      // Whoever waits in the same queue came first.
      return fits(claim) && !queues.has(claim.queue) ? take(claim) : waitInQueue(claim);
    },
  };
}

type Run = <T>(work: () => Promise<T>) => Promise<T>;

/** Runs so much work at once, and lets so much more wait in one queue; the rest is refused. */
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

/** Runs the work of each key one after the other; so much more of a key may wait. */
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
