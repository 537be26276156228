import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The key that secrets at rest are sealed with, beside an id so that it can be changed one day. */
export interface SealingKey {
  readonly id: string;
  readonly key: Buffer;
}

export const sealingKeyFile = (dataDir: string) => join(dataDir, "sealing.key");

/** Reads the sealing key, or makes one that only its owner can read. */
export async function ensureSealingKey(dataDir: string): Promise<SealingKey> {
  const file = sealingKeyFile(dataDir);
  await mkdir(dataDir, { recursive: true });
  try {
    await writeFile(file, `k${Date.now().toString(36)}:${randomBytes(32).toString("base64url")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  return readSealingKey(file);
}

async function readSealingKey(file: string): Promise<SealingKey> {
  const [id = "", text = ""] = (await readFile(file, "utf8")).trim().split(":");
  const key = Buffer.from(text, "base64url");
  if (id === "" || key.length !== 32) throw new Error(`${file} is no sealing key; restore it from a backup`);
  return { id, key };
}
