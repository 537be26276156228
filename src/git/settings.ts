import { availableParallelism } from "node:os";
import { join } from "node:path";

/**
 * Comparing a file of nothing but line feeds takes git 80 times its size in memory: 165 MB for one of this size.
 * Larger files count as binary, wherever files are compared and only there.
 */
export const MAX_COMPARED_FILE_BYTES = 2 * 1024 * 1024;
const MAX_COMPARED_FILE_VARIABLE = "FAIRLEAD_MAX_COMPARED_FILE";

/** The option, before its command, that keeps git from comparing larger files. */
export const COMPARE_SMALL_FILES = `--config-env=core.bigFileThreshold=${MAX_COMPARED_FILE_VARIABLE}`;

/**
 * The configuration of git, passed in the environment of every call: a change applies to existing repositories at once,
 * and none depends on the config file of a repository.
 */
export function gitSettings({ maxPackBytes }: { readonly maxPackBytes: number }): Readonly<Record<string, string>> {
  const settings: readonly (readonly [name: string, value: string])[] = [
    // An acknowledged push survives a power cut.
    ["core.fsync", "objects,derived-metadata,reference"],
    ["core.fsyncMethod", "fsync"],
    ["core.hooksPath", join(import.meta.dirname, "hooks")],
    // Larger files are streamed, which keeps memory small.
    ["core.bigFileThreshold", "50m"],
    // The directory may belong to another user than the one we run as.
    ["safe.directory", "*"],
    ["receive.fsckObjects", "true"],
    // Old histories contain these, and they are harmless.
    ["receive.fsck.badTimezone", "ignore"],
    ["receive.fsck.missingSpaceBeforeDate", "ignore"],
    ["receive.fsck.zeroPaddedFilemode", "ignore"],
    ["receive.maxInputSize", String(maxPackBytes)],
    // A pack is two files to make durable; as loose objects it would be one each.
    ["receive.unpackLimit", "1"],
    ["receive.advertisePushOptions", "true"],
    // Our rules say who may delete which branch.
    ["receive.denyDeleteCurrent", "ignore"],
    // Repositories are packed by a job.
    ["receive.autogc", "false"],
    ["gc.auto", "0"],
    ["maintenance.auto", "false"],
    ["transfer.hideRefs", "refs/fairlead"],
    ["uploadpack.allowFilter", "true"],
    ["uploadpack.allowReachableSHA1InWant", "true"],
    ["pack.writeReverseIndex", "true"],
    ["pack.threads", String(Math.min(availableParallelism(), 4))],
    // Each thread looks for deltas among ten objects, which may have 50 MB each.
    ["pack.windowMemory", "256m"],
  ];
  return Object.fromEntries([
    // Limits a single allocation: a few bytes of a pack can ask for gigabytes.
    ["GIT_ALLOC_LIMIT", "1g"],
    [MAX_COMPARED_FILE_VARIABLE, String(MAX_COMPARED_FILE_BYTES)],
    ["GIT_CONFIG_COUNT", String(settings.length)],
    ...settings.flatMap(([name, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ]);
}
