import type { Repository } from "#git/storages/storage.ts";
import { linesOf } from "./output.ts";

/** Lines that follow each other and have been as they are since one commit. */
export interface Blamed {
  readonly commit: string;
  readonly lines: string[];
}

/** Who is to be asked about each line of a file: the commits that wrote them, for all lines or from one to another. */
export async function readBlame(
  repository: Repository,
  { commit, path }: { commit: string; path: string },
  range?: { start: number; end: number },
): Promise<Blamed[]> {
  const found: Blamed[] = [];
  let current = "";
  const limits = range ? ["-L", `${range.start},${range.end}`] : [];
  // It takes no `--end-of-options`, so it is given nothing but an id.
  const call = { command: "blame", options: ["--porcelain", ...limits, commit], paths: [path] } as const;
  for await (const lines of linesOf(repository, call)) {
    for (const line of lines) {
      if (!line.startsWith("\t")) {
        current = /^[0-9a-f]{40}(?= \d)/.exec(line)?.[0] ?? current;
        continue;
      }
      const last = found.at(-1);
      if (last?.commit === current) last.lines.push(line.slice(1));
      else found.push({ commit: current, lines: [line.slice(1)] });
    }
  }
  return found;
}
