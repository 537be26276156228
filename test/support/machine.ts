import { argon2Sync } from "node:crypto";

/** What one hash takes on the machine that the bounds were set on, in milliseconds. */
const REFERENCE_MS = 36;
/** Above the 2.2 that an idle virtual machine was measured at; what is wrong is slower by far more. */
const MAX_SLOWNESS = 3;
const COST = { message: "", nonce: Buffer.alloc(16), parallelism: 1, tagLength: 32, memory: 19_456, passes: 2 };

function hashMs(): number {
  const began = performance.now();
  argon2Sync("argon2id", COST);
  return performance.now() - began;
}

let measured: number | undefined;

/**
 * How many times longer this machine takes than the reference, at least 1. Times are divided by it, so that a slow
 * machine does not look like a slow program. On a machine beyond the maximum the bounds fail, and a person must judge.
 */
export function slowness(): number {
  measured ??= Math.min(MAX_SLOWNESS, Math.max(1, Math.min(...Array.from({ length: 10 }, hashMs)) / REFERENCE_MS));
  return measured;
}

export function reportSlowness() {
  if (slowness() > 1) console.log(`times are divided by ${slowness().toFixed(2)}: this machine is that much slower`);
}
