import type { Repository } from "#git/storages/storage.ts";
import { linesOf } from "./output.ts";

/** Lines that follow each other and have been as they are since one commit. */
export interface Blamed {
  readonly commit: string;
  readonly lines: string[];
}

/** How much of a file is blamed at once; what is behind it can be asked for by its range. */
const MAX_LINES = 50_000;
const MAX_LINE_BYTES = 256 * 1024;

/** Who is to be asked about each line of a file: the commits that wrote them, for all lines or from one to another. */
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
  // It takes no `--end-of-options`, so it is given nothing but an id.
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
