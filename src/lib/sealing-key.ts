import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ensureDirectory } from "./directories.ts";
import { writeOnce } from "./write-once.ts";

/** The key that secrets at rest are sealed with; its id allows for key rotation. */
export interface SealingKey {
  readonly id: string;
  readonly key: Buffer;
}

export const sealingKeyFile = (dataDir: string) => join(dataDir, "sealing.key");

/** Reads the sealing key, or creates one that only its owner can read. */
export async function ensureSealingKey(dataDir: string): Promise<SealingKey> {
  const file = sealingKeyFile(dataDir);
  await ensureDirectory(dataDir);
  try {
    return await readSealingKey(file);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  await writeOnce(file, `k${Date.now().toString(36)}:${randomBytes(32).toString("base64url")}\n`);
  return readSealingKey(file);
}

const hasCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code;

async function readSealingKey(file: string): Promise<SealingKey> {
  const [id = "", text = ""] = (await readFile(file, "utf8")).trim().split(":");
  const key = Buffer.from(text, "base64url");
  if (id === "" || key.length !== 32) throw new Error(`${file} is no sealing key; restore it from a backup`);
  return { id, key };
}
