import { hash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Files named by the SHA-256 of their content. A blob is stored before the transaction that refers to it commits. */
export interface Blobs {
  put(bytes: Buffer): Promise<string>;
  get(name: string): Promise<Buffer | undefined>;
}

export function directoryBlobs(directory: string): Blobs {
  const pathOf = (name: string) => join(directory, name.slice(0, 2), name);
  return {
    async put(bytes) {
      const name = hash("sha256", bytes, "hex");
      const path = pathOf(name);
      if (await exists(path)) return name;
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const temporary = `${path}.${randomUUID()}`;
      await using file = await open(temporary, "wx", 0o600);
      await file.writeFile(bytes);
      // A committed row may refer to this file, so it must survive a power cut.
      await file.sync();
      await rename(temporary, path);
      return name;
    },
    async get(name) {
      if (!/^[0-9a-f]{64}$/.test(name)) return undefined;
      try {
        return await readFile(pathOf(name));
      } catch (error) {
        if (isAbsent(error)) return undefined;
        throw error;
      }
    },
  };
}

async function exists(path: string) {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

const isAbsent = (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT";
