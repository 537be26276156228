import type { Readable } from "node:stream";
import type { Repository } from "#git/storages/storage.ts";
import { streamOf } from "./blobs.ts";

export const ARCHIVE_FORMATS = {
  "tar.gz": "application/gzip",
  tar: "application/x-tar",
  zip: "application/zip",
} as const;
export type ArchiveFormat = keyof typeof ARCHIVE_FORMATS;

const ARCHIVE_TIMEOUT_MS = 30 * 60_000;

/** Streams an archive of a commit while git creates it. */
export async function streamArchive(
  repository: Repository,
  { commit, format, directory, path }: { commit: string; format: ArchiveFormat; directory: string; path: string },
): Promise<Readable> {
  return streamOf(
    await repository.run({
      command: "archive",
      options: [`--format=${format}`, `--prefix=${directory}/`],
      values: [commit],
      ...(path === "" ? {} : { paths: [path] }),
      timeoutMs: ARCHIVE_TIMEOUT_MS,
      transfer: true,
    }),
  );
}
