import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const COLLECTION_INTERVAL_BYTES = 2 * 1024 * 1024;

/**
 * Returns a function that is told of bytes as they pass through buffers and runs a minor collection every few
 * megabytes. Without it V8 counts 32 MB of external memory and marks the whole heap, twenty times in a clone of
 * 200 MB, which costs more than the transfer itself.
 */
export function minorCollector(): (bytes: number) => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" }) => void;
  setFlagsFromString("--no-expose-gc");
  let passed = 0;
  return (bytes) => {
    passed += bytes;
    if (passed < COLLECTION_INTERVAL_BYTES) return;
    passed = 0;
    collect({ type: "minor" });
  };
}
