import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

const MOMENT = 1_000;

/** Stops once, in order, when the process is asked to or when a bug leaves it in an unknown state. */
export function stopOnSignal(log: Logger, stop: () => Promise<void>): (reason: string) => void {
  let stopping: Promise<void> | undefined;
  const begin = (reason: string) => {
    stopping ??= inOrder(reason);
  };
  async function inOrder(reason: string) {
    log.info({ signal: reason }, "stopping");
    await stop();
    log.flush();
    // A job that was left behind must not keep the process.
    setTimeout(() => process.exit(), MOMENT).unref();
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => begin(signal));
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "a bug; the process stops");
    process.exitCode = 1;
    begin("uncaughtException");
  });
  return begin;
}

/** Waits for what usually takes no time, and goes on without it when a job that was left behind holds it up. */
export const soon = (work: Promise<void>): Promise<void> =>
  Promise.race([work, sleep(MOMENT, undefined, { ref: false })]);
