import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import { RELEASE } from "#lib/release.ts";
import { type GitMeter, meterGit } from "./git.ts";
import { type HttpMeter, meterHttp } from "./http.ts";
import { meterSsh, type SshMeter } from "./ssh.ts";

export interface Metrics {
  readonly registry: Registry;
  readonly git: GitMeter;
  readonly ssh: SshMeter;
  readonly http: HttpMeter;
  /** Everything in the text format of Prometheus. */
  text(): Promise<string>;
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
  const http = meterHttp();
  return {
    registry,
    git: meterGit(registry),
    ssh: meterSsh(registry),
    http,
    text: async () => (await registry.metrics()) + (await http.text()),
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
