import { randomBytes, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
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
    return await readSealingKey(file);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
  await makeSealingKey(file);
  return readSealingKey(file);
}

/** Linked into place whole, so that of two processes that start at once neither finds half a key. */
async function makeSealingKey(file: string) {
  const aside = `${file}.${randomUUID()}`;
  const text = `k${Date.now().toString(36)}:${randomBytes(32).toString("base64url")}\n`;
  await writeFile(aside, text, { flag: "wx", mode: 0o600 });
  try {
    await link(aside, file);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await rm(aside);
  }
}

const hasCode = (error: unknown, code: string) => error instanceof Error && "code" in error && error.code === code;

async function readSealingKey(file: string): Promise<SealingKey> {
  const [id = "", text = ""] = (await readFile(file, "utf8")).trim().split(":");
  const key = Buffer.from(text, "base64url");
  if (id === "" || key.length !== 32) throw new Error(`${file} is no sealing key; restore it from a backup`);
  return { id, key };
}
