import { setImmediate as nextTurn } from "node:timers/promises";
import type { Engine, HeldJob } from "./engine.ts";
import type { Queue } from "./queues.ts";

interface Completion {
  readonly held: HeldJob;
  readonly resolve: (ours: boolean) => void;
  readonly reject: (error: unknown) => void;
}

const MAX_CONCURRENT = 2;

/** Completes jobs of a queue in batches: what finishes while two statements run goes into the next. */
export function jobCompletion(engine: Engine, queue: Queue): (held: HeldJob) => Promise<boolean> {
  let waiting: Completion[] = [];
  let running = 0;

  async function completeAll() {
    running++;
    await nextTurn();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        const held = batch.map(({ held }) => held);
        const { settled } = (await engine.deleteJob(queue, held)) as { settled: string[] };
        const ours = new Set(settled);
        for (const { held, resolve } of batch) resolve(ours.has(held.id));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running--;
  }

  return (held) =>
    new Promise((resolve, reject) => {
      waiting.push({ held, resolve, reject });
      if (running < MAX_CONCURRENT) void completeAll();
    });
}
