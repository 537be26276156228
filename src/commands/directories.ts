import type { Config } from "#config.ts";
import { openGit } from "#git/storages/open.ts";
import { ensureDirectory, mustBeWritable } from "#lib/directories.ts";
import { problemOf } from "./problems.ts";

/** Creates the data directory, or says why it cannot be used. */
export async function prepareDataDirectory({ dataDir }: Config) {
  try {
    await ensureDirectory(dataDir);
    await mustBeWritable(dataDir);
  } catch (error) {
    const advice = "set it to a directory that this user can create and write";
    throw new Error(`FAIRLEAD_DATA_DIR: ${dataDir} cannot be used (${problemOf(error)}); ${advice}`, { cause: error });
  }
}

/** The same for the data directory and every storage of repositories. */
export async function prepareDirectories(config: Config) {
  await prepareDataDirectory(config);
  const setting = config.storages ? "FAIRLEAD_STORAGES" : "FAIRLEAD_DATA_DIR";
  const git = openGit(config);
  try {
    for (const storage of git.storages) {
      await storage.prepare().catch((error: unknown) => {
        const seen = `the storage ${storage.name} cannot be written (${problemOf(error)})`;
        throw new Error(`${setting}: ${seen}; name a directory that this user can write`, { cause: error });
      });
    }
  } finally {
    await git.close();
  }
}
