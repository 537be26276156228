import { randomUUID } from "node:crypto";
import { link, rm, writeFile } from "node:fs/promises";

/** Writes a secret file atomically, readable by its owner only; an existing file is kept. */
export async function writeOnce(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, text, { flag: "wx", mode: 0o600, flush: true });
  try {
    // Two processes that start at once both read the same, complete file.
    await link(temporary, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await rm(temporary);
  }
}
