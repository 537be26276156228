import { setImmediate as nextTurn } from "node:timers/promises";
import { Histogram, Registry } from "prom-client";

/** How long other requests wait while metrics are formatted. */
const MAX_TURN_MS = 5;

/** Records the duration of each response of one operation. */
export interface Meter {
  count(status: number, ms: number): void;
}

/** The durations of requests, by operation and status. */
export interface HttpMeter {
  meterOf(operation: string): Meter;
  text(): Promise<string>;
}

/**
 * Each operation has a registry of its own, although all are one metric: a busy process has thousands of series, and
 * to format them at once would delay every other request.
 */
export function meterHttp(): HttpMeter {
  const operations = new Map<string, { registry: Registry; meter: Meter }>();
  return {
    meterOf(operation) {
      let found = operations.get(operation);
      if (!found) {
        const registry = new Registry();
        operations.set(operation, (found = { registry, meter: makeMeter(registry, operation) }));
      }
      return found.meter;
    },
    async text() {
      let text = "";
      let began = performance.now();
      for (const { registry } of operations.values()) {
        const part = await registry.metrics();
        // A metric may be introduced only once.
        text += text === "" ? part : part.replace(/^#.*\n/gm, "");
        // With many requests at once a turn after each operation would take seconds in all.
        if (performance.now() - began < MAX_TURN_MS) continue;
        await nextTurn();
        began = performance.now();
      }
      return text;
    },
  };
}

function makeMeter(registry: Registry, operation: string): Meter {
  const durations = new Histogram({
    name: "fairlead_http_request_duration_seconds",
    help: "Time from the first byte of a request to the end of its answer",
    labelNames: ["operation", "status"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  // Looking the labels up costs more than observing, so each observer is kept.
  const byStatus = new Map<number, ReturnType<typeof durations.labels>>();
  return {
    count(status, ms) {
      let observer = byStatus.get(status);
      if (!observer) byStatus.set(status, (observer = durations.labels(operation, String(status))));
      observer.observe(ms / 1000);
    },
  };
}
