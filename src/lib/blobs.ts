import { hash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Files kept by the SHA-256 of their bytes: put before the commit that names them, swept when nothing does. */
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
      const aside = `${path}.${randomUUID()}`;
      await using file = await open(aside, "wx", 0o600);
      await file.writeFile(bytes);
      // What a committed row names must survive a power cut.
      await file.sync();
      await rename(aside, path);
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
