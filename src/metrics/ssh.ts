import { Counter, Gauge, Histogram, type Registry } from "prom-client";

export interface SshMeter {
  readonly connections: Gauge<"state">;
  /** Connections that were closed at once, because there were too many or too many refused keys. */
  readonly connectionsRefused: Counter;
  readonly authentications: Counter<"outcome">;
  readonly sessions: Gauge;
  readonly commands: Histogram<"operation" | "outcome">;
}

export function meterSsh(registry: Registry): SshMeter {
  const registers = [registry];
  const meter: SshMeter = {
    connections: new Gauge({
      name: "fairlead_ssh_connections",
      help: "Open SSH connections, by whether a key was accepted",
      labelNames: ["state"],
      registers,
    }),
    connectionsRefused: new Counter({
      name: "fairlead_ssh_connections_refused_total",
      help: "SSH connections that were closed before anything was read",
      registers,
    }),
    authentications: new Counter({
      name: "fairlead_ssh_authentications_total",
      help: "SSH connections by whether a key was accepted or all were refused",
      labelNames: ["outcome"],
      registers,
    }),
    sessions: new Gauge({ name: "fairlead_ssh_sessions", help: "Open sessions of SSH connections", registers }),
    commands: new Histogram({
      name: "fairlead_ssh_command_duration_seconds",
      help: "How long commands over SSH ran, by operation and outcome",
      labelNames: ["operation", "outcome"],
      buckets: [0.01, 0.05, 0.25, 1, 5, 30, 120, 600, 3600],
      registers,
    }),
  };
  for (const state of ["unauthenticated", "authenticated"]) meter.connections.set({ state }, 0);
  for (const outcome of ["accepted", "refused"]) meter.authentications.inc({ outcome }, 0);
  return meter;
}
