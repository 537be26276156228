import { setImmediate as nextTurn } from "node:timers/promises";
import type { Engine, HeldJob } from "./engine.ts";
import type { Queue } from "./queues.ts";

interface Ending {
  readonly held: HeldJob;
  readonly resolve: (ours: boolean) => void;
  readonly reject: (error: unknown) => void;
}

const AT_ONCE = 2;

/** Ends finished jobs of a queue, two statements at once: what finishes while these run goes together in the next. */
export function endingsOf(engine: Engine, queue: Queue): (held: HeldJob) => Promise<boolean> {
  let waiting: Ending[] = [];
  let running = 0;

  async function endAll() {
    running++;
    await nextTurn();
    while (waiting.length > 0) {
      const endings = waiting;
      waiting = [];
      try {
        const held = endings.map((ending) => ending.held);
        const { settled } = (await engine.deleteJob(queue, held)) as { settled: string[] };
        const ours = new Set(settled);
        for (const { held, resolve } of endings) resolve(ours.has(held.id));
      } catch (error) {
        for (const { reject } of endings) reject(error);
      }
    }
    running--;
  }

  return (held) =>
    new Promise((resolve, reject) => {
      waiting.push({ held, resolve, reject });
      if (running < AT_ONCE) void endAll();
    });
}
