import type { Repository } from "#git/storages/storage.ts";
import { linesOf } from "./output.ts";

/** Consecutive lines that were last changed by one commit. */
export interface Blamed {
  readonly commit: string;
  readonly lines: string[];
}

/** Limits of one answer; later lines can be requested by range. */
const MAX_LINES = 50_000;
const MAX_LINE_BYTES = 256 * 1024;

/** The commit that last changed each line of a file, or of a range of lines. */
export async function readBlame(
  repository: Repository,
  { commit, path }: { commit: string; path: string },
  range?: { start: number; end: number },
): Promise<{ blamed: Blamed[]; truncated: boolean }> {
  const blamed: Blamed[] = [];
  let current = "";
  let count = 0;
  let truncated = false;
  const limits = range ? ["-L", `${range.start},${range.end}`] : [];
  // Blame has no `--end-of-options`, so only an object id is passed.
  const call = { command: "blame", options: ["--porcelain", ...limits, commit], paths: [path] } as const;
  for await (const lines of linesOf(repository, call, { maxBytes: MAX_LINE_BYTES, overlong: "cut" })) {
    for (const line of lines) {
      if (!line.startsWith("\t")) {
        current = /^[0-9a-f]{40}(?= \d)/.exec(line)?.[0] ?? current;
        continue;
      }
      if (++count > MAX_LINES) return { blamed, truncated: true };
      truncated ||= line.length > MAX_LINE_BYTES;
      const last = blamed.at(-1);
      if (last?.commit === current) last.lines.push(line.slice(1));
      else blamed.push({ commit: current, lines: [line.slice(1)] });
    }
  }
  return { blamed, truncated };
}
