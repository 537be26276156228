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
