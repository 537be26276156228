import { join } from "node:path";
import type { Config } from "#config.ts";
import { collect, type GitMeter, gitProcesses, type SlotUsage } from "#git/process.ts";
import { IDLE_BATCHES_PER_STORAGE } from "#git/slots.ts";
import { unavailable } from "#lib/refusal.ts";
import { mutexByKey } from "#lib/semaphore.ts";
import { localStorage } from "./local.ts";
import { GitFailed, type Repository, type Storage } from "./storage.ts";

const directoriesOf = ({ storages, dataDir }: Config): Readonly<Record<string, string>> =>
  storages ?? { default: join(dataDir, "repositories") };

const MAX_WAITING = 100;
const PROBE_BYTES = 64 * 2 ** 20;

/** The storages of this process and its git processes. */
export interface Git {
  readonly storages: readonly Storage[];
  /** Finds a storage by name; refused if this process is not configured for it. */
  storage(name: string): Storage;
  /**
   * Runs the writes of this process to one ref one at a time, because the loser of a race has to redo all its work.
   * Other processes may still win.
   */
  serializeWrites<T>(repository: Repository, ref: string, write: () => Promise<T>): Promise<T>;
  /** The version of the installed git. */
  version(): Promise<string>;
  /** Whether this system enforces the memory limit of git. */
  limitsMemory(): Promise<boolean>;
  slotUsage(): SlotUsage[];
  close(): Promise<void>;
}

export function openGit(config: Config, meter?: GitMeter): Git {
  const directories = Object.entries(directoriesOf(config));
  const processes = gitProcesses({
    slots: config.gitProcesses,
    idleBatches: IDLE_BATCHES_PER_STORAGE * directories.length,
    transferMemory: config.gitMemory,
    searchPath: config.searchPath,
    ...(meter && { meter }),
  });
  const storages = directories.map(([name, directory]) =>
    localStorage({ name, directory, processes, maxPackBytes: config.gitMaxPack }),
  );
  const writers = mutexByKey(MAX_WAITING);
  return {
    storages,
    serializeWrites: (repository, ref, write) => writers(`${repository.storage} ${repository.name} ${ref}`, write),
    storage(name) {
      const found = storages.find((storage) => storage.name === name);
      if (!found) throw unavailable(60);
      return found;
    },
    async version() {
      const git = await processes.start({ args: ["version"], timeoutMs: 10_000, slot: "short" });
      const [output] = await Promise.all([collect(git.output), git.ended]);
      return /\d+\.\d+(?:\.\d+)*/.exec(output.toString())?.[0] ?? "";
    },
    async limitsMemory() {
      const memory = PROBE_BYTES / 2;
      const args = ["hash-object", "--stdin"];
      const git = await processes.start({
        args,
        slot: "short",
        memory,
        input: Buffer.alloc(PROBE_BYTES),
        timeoutMs: 10_000,
      });
      git.output.resume();
      return git.ended.then(
        () => false,
        (error: unknown) => error instanceof GitFailed && error.outOfMemory,
      );
    },
    slotUsage: () => processes.slotUsage(),
    close: () => processes.close(),
  };
}
