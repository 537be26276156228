import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { RELEASE } from "#lib/release.ts";
import { type GitMeter, meterGit } from "./git.ts";
import { meterSsh, type SshMeter } from "./ssh.ts";

/** Records the duration of each response of one operation. */
export interface Meter {
  count(status: number, ms: number): void;
}

export interface Metrics {
  readonly registry: Registry;
  readonly git: GitMeter;
  readonly ssh: SshMeter;
  meterOf(operation: string): Meter;
}

export function makeMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: "fairlead_build_info",
    help: "1, with the versions of this process as labels",
    labelNames: ["version", "node_version"],
    registers: [registry],
  }).set({ version: RELEASE, node_version: process.versions.node }, 1);
  const durations = new Histogram({
    name: "fairlead_http_request_duration_seconds",
    help: "Time from the first byte of a request to the end of its answer",
    labelNames: ["operation", "status"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return {
    registry,
    git: meterGit(registry),
    ssh: meterSsh(registry),
    meterOf(operation) {
      // Looking the labels up costs more than observing, so each observer is kept.
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

/** Registers how many log lines this process could not write. */
export function meterLog(registry: Registry, droppedLines: () => number) {
  const counter = new Counter({
    name: "fairlead_log_lines_dropped_total",
    help: "Log lines that could not be written",
    registers: [registry],
    collect() {
      counter.reset();
      counter.inc(droppedLines());
    },
  });
}
