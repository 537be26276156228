import assert from "node:assert/strict";
import { Refusal } from "#lib/refusal.ts";

/** The text of the parameter error that a read ends in, if it does; any other error fails the test. */
export function problemOf(read: () => unknown): string | undefined {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.kind, "invalid");
    return error.details.error;
  }
  return undefined;
}

/** The best of three runs in processor time: neighbours on a busy machine must not fail a test, a slow function must. */
export function assertQuick(run: () => unknown, milliseconds = 100): void {
  const times = [1, 2, 3].map(() => {
    const start = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1_000;
  });
  assert.ok(Math.min(...times) < milliseconds, `${times.join(", ")} ms`);
}
