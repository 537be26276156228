import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

const EXIT_DELAY_MS = 1_000;

/** Stops the process once, on a signal or after an uncaught exception. */
export function stopOnSignal(log: Logger, stop: () => Promise<void>): (reason: string) => void {
  let stopping: Promise<void> | undefined;
  const begin = (reason: string) => {
    stopping ??= inOrder(reason);
  };
  async function inOrder(reason: string) {
    log.info({ signal: reason }, "stopping");
    await stop().catch((error: unknown) => {
      log.error({ err: error }, "could not stop cleanly");
      process.exitCode = 1;
    });
    // A job that did not end must not keep the process alive.
    setTimeout(() => process.exit(), EXIT_DELAY_MS).unref();
  }
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => begin(signal));
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "uncaught exception; stopping");
    process.exitCode = 1;
    begin("uncaughtException");
  });
  return begin;
}

/** Waits for a close that is usually immediate, but not longer than a second if a job that did not end blocks it. */
export const soon = (work: Promise<void>): Promise<void> =>
  Promise.race([work, sleep(EXIT_DELAY_MS, undefined, { ref: false })]);
