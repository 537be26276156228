import { randomUUID } from "node:crypto";
import { link, rm, writeFile } from "node:fs/promises";

/** Writes a secret file that only its owner can read, whole or not at all; one that is there already stays. */
export async function writeOnce(file: string, text: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  await writeFile(aside, text, { flag: "wx", mode: 0o600, flush: true });
  try {
    // Of two processes that start at once neither finds half a file, and both find the same.
    await link(aside, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await rm(aside);
  }
}
