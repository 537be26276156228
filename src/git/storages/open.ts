import { join } from "node:path";
import type { Config } from "#config.ts";
import { collect, gitProcesses } from "#git/process.ts";
import { IDLE_BATCHES_PER_STORAGE } from "#git/slots.ts";
import { unavailable } from "#lib/refusal.ts";
import { mutexByKey } from "#lib/semaphore.ts";
import { localStorage } from "./local.ts";
import { GitFailed, type Repository, type Storage } from "./storage.ts";

const directoriesOf = ({ storages, dataDir }: Config): Readonly<Record<string, string>> =>
  storages ?? { default: join(dataDir, "repositories") };

const MOST_WAITING = 100;
const PROBE_BYTES = 64 * 2 ** 20;

/** Git as this process uses it: the storages it knows, and all processes of git on them. */
export interface Git {
  readonly storages: readonly Storage[];
  /** A storage of that name; a project may be on one that this process was not told of. */
  storage(name: string): Storage;
  /**
   * Lets those of this process who write to one ref do so one after the other: other processes may still come first,
   * but whoever loses a race has to do all work again.
   */
  inTurn<T>(repository: Repository, ref: string, write: () => Promise<T>): Promise<T>;
  /** Of the git that is installed. */
  version(): Promise<string>;
  /** Whether the memory of git is limited: where it can be, git must not get more than it may have. */
  limitsMemory(): Promise<boolean>;
  close(): Promise<void>;
}

export function openGit(config: Config): Git {
  const directories = Object.entries(directoriesOf(config));
  const processes = gitProcesses({
    slots: config.gitProcesses,
    idleBatches: IDLE_BATCHES_PER_STORAGE * directories.length,
    transferMemory: config.gitMemory,
    searchPath: config.searchPath,
  });
  const storages = directories.map(([name, directory]) =>
    localStorage({ name, directory, processes, maxPack: config.gitMaxPack }),
  );
  const writers = mutexByKey(MOST_WAITING);
  return {
    storages,
    inTurn: (repository, ref, write) => writers(`${repository.storage} ${repository.name} ${ref}`, write),
    storage(name) {
      const found = storages.find((storage) => storage.name === name);
      if (!found) throw unavailable(60);
      return found;
    },
    async version() {
      const git = await processes.start({ args: ["version"], timeout: 10_000, slot: "short" });
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
        timeout: 10_000,
      });
      git.output.resume();
      return git.ended.then(
        () => false,
        (error: unknown) => error instanceof GitFailed && error.outOfMemory,
      );
    },
    close: () => processes.close(),
  };
}
