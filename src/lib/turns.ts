import { unavailable } from "./refusal.ts";

/** Lets so many run at once and so many more wait for their turn; the rest are refused. */
export function takeTurns(atOnce: number, mostWaiting = Infinity): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= mostWaiting) throw unavailable();
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running++;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}

/** Lets one run at a time for each key; so many more of a key wait for their turn. */
export function takeTurnsByKey(mostWaiting: number): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const queues = new Map<string, { readonly take: ReturnType<typeof takeTurns>; users: number }>();
  return async (key, work) => {
    const queue = queues.get(key) ?? { take: takeTurns(1, mostWaiting), users: 0 };
    queues.set(key, queue);
    queue.users++;
    try {
      return await queue.take(work);
    } finally {
      if (--queue.users === 0) queues.delete(key);
    }
  };
}
