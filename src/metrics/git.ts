import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** How many slots of a class there are, are taken and are waited for. */
interface SlotUsage {
  readonly slotClass: string;
  readonly slots: number;
  readonly inUse: number;
  readonly waiting: number;
}

/** What a metered git tells. */
export interface GitMeter {
  /** A process ended. */
  ended(operation: string, outcome: string, seconds: number): void;
  /** A process could not start, because too many waited already or for too long. */
  refused(slotClass: string): void;
}

export function meterGit(registry: Registry): GitMeter {
  const registers = [registry];
  const durations = new Histogram({
    name: "fairlead_git_process_duration_seconds",
    help: "How long processes of git ran, by command and outcome",
    labelNames: ["operation", "outcome"],
    buckets: [0.005, 0.025, 0.1, 0.5, 2, 10, 60, 600, 3600],
    registers,
  });
  const refusals = new Counter({
    name: "fairlead_git_slots_refused_total",
    help: "Processes of git that did not get a slot",
    labelNames: ["class"],
    registers,
  });
  return {
    ended: (operation, outcome, seconds) => durations.observe({ operation, outcome }, seconds),
    refused: (slotClass) => refusals.inc({ class: slotClass }),
  };
}

/** Registers the slots for processes of git. */
export function meterGitSlots(registry: Registry, usage: () => readonly SlotUsage[]) {
  const gauge = (name: string, help: string, shown: "slots" | "inUse" | "waiting") =>
    new Gauge({
      name,
      help,
      labelNames: ["class"],
      registers: [registry],
      collect() {
        for (const each of usage()) this.set({ class: each.slotClass }, each[shown]);
      },
    });
  gauge("fairlead_git_slots", "Processes of git that may run at once", "slots");
  gauge("fairlead_git_slots_in_use", "Slots that are taken", "inUse");
  gauge("fairlead_git_slots_waiting", "Callers that wait for a slot", "waiting");
}
