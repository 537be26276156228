import { collectDefaultMetrics, Histogram, Registry } from "prom-client";

/** Counts the answers of one operation. */
export interface Meter {
  count(status: number, ms: number): void;
}

export interface Metrics {
  readonly registry: Registry;
  meterOf(operation: string): Meter;
}

export function makeMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: "fairlead_http_request_duration_seconds",
    help: "Time from the first byte of a request to the end of its answer",
    labelNames: ["operation", "status"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    registry,
    meterOf(operation) {
      // The label lookup is kept, because it costs more than the count.
      const byStatus = new Map<number, ReturnType<typeof durations.labels>>();
      return {
        count(status, ms) {
          let observer = byStatus.get(status);
          if (!observer) byStatus.set(status, (observer = durations.labels(operation, String(status))));
          observer.observe(ms / 1000);
        },
      };
    },
  };
}
