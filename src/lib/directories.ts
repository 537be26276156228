import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/**
 * Creates a directory and its parents, one by one: where a file system such as /proc refuses a new directory as "not
 * found", Node's own recursive mkdir never ends.
 */
export async function ensureDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await isDirectory(at)); at = dirname(at)) missing.push(at);
  for (const directory of missing.toReversed()) {
    await mkdir(directory).catch((error: unknown) => {
      // Another process created it at the same time.
      if (codeOf(error) !== "EEXIST") throw error;
    });
  }
}

/** Throws unless a directory can be written, or created in the nearest parent that exists; creates nothing. */
export async function mustBeWritable(path: string): Promise<void> {
  let nearest = path;
  while (!(await isDirectory(nearest))) nearest = dirname(nearest);
  await access(nearest, constants.W_OK | constants.X_OK);
}

/** Whether the directory exists; throws if something else is at its path. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  throw Object.assign(new Error(`ENOTDIR: not a directory, '${path}'`), { code: "ENOTDIR" });
}
