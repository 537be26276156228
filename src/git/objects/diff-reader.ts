import { lineSplitter } from "./output.ts";

/** A file that differs, as a record of `diff-tree --raw` tells it; texts are Latin-1, which keeps their bytes. */
interface Changed {
  readonly oldPath: string;
  readonly newPath: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly status: string;
  /** What it was and what it is. */
  readonly ids: readonly string[];
  /** Whether its paths are only the beginning of what they are. */
  readonly truncated: boolean;
}

export interface FileDiff extends Changed {
  /** Its hunks, or a line that says why there are none. */
  readonly text: string;
  /** Its hunks are more than anybody is sent. */
  readonly tooLarge: boolean;
  /** Its hunks are left out, because those before them were so many. */
  readonly collapsed: boolean;
}

/** How much of a difference is told. */
export interface DiffLimits {
  readonly fileBytes: number;
  readonly bytes: number;
  readonly lines: number;
}

/** Which of the files that differ are wanted. */
interface Wanted {
  readonly skip: number;
  readonly limit: number;
}

interface Text {
  readonly lines: string[];
  bytes: number;
  begun: boolean;
  tooLarge: boolean;
  collapsed: boolean;
}

/**
 * Reads what `diff-tree -z --raw -p` writes: a record of each file, an empty one, then the hunks of each file in the
 * same order. No line of a hunk begins with `diff`, so that where a file begins is certain.
 */
export function diffReader({ skip, limit }: Wanted, limits: DiffLimits) {
  const records: Changed[] = [];
  const texts = new Map<number, Text>();
  let total = 0;
  let fields: string[] = [];
  let inHunks = false;
  let at = -1;
  const fieldsOf = lineSplitter({ end: "\0", maxBytes: MAX_PATH_BYTES, overlong: "cut" });
  // A line that is longer than a file may have makes the file too large, and is not kept.
  const linesOf = lineSplitter({ maxBytes: limits.fileBytes, overlong: "cut" });
  /** Sections of the file that are still to come: what became another kind of thing is deleted first, then added. */
  let sections = 0;
  let [bytes, lines] = [0, 0];

  /** Field by field, as what stands behind the empty record is split otherwise. */
  function readRecords(part: string) {
    let start = 0;
    while (start < part.length) {
      const end = part.indexOf("\0", start) + 1;
      const [field] = fieldsOf(part.slice(start, end === 0 ? undefined : end));
      if (field === undefined) return;
      start = end;
      if (field === "" && fields.length === 0) {
        inHunks = true;
        return readHunks(part.slice(start));
      }
      fields.push(field);
      const record = recordOf(fields);
      if (!record) continue;
      fields = [];
      total += 1;
      if (total <= skip + limit) records.push(record);
    }
  }

  function readHunks(part: string) {
    for (const line of linesOf(part)) readLine(line);
  }

  /** From here on no file is told with its hunks, so that there is nothing more to read. */
  const isFull = () => bytes > limits.bytes || lines > limits.lines;

  function readLine(line: string) {
    if (line.startsWith("diff --git ")) return beginFile();
    const text = texts.get(at);
    if (!text || text.tooLarge || text.collapsed) return;
    text.begun ||= line.startsWith("@@ ") || line.startsWith("Binary files ");
    if (!text.begun) return;
    text.bytes += line.length + 1;
    bytes += line.length + 1;
    lines += 1;
    text.tooLarge = text.bytes > limits.fileBytes;
    text.collapsed = isFull();
    text.lines.push(line);
  }

  function beginFile() {
    const text = texts.get(at);
    if (text) text.begun = false;
    if (sections > 0) return void (sections -= 1);
    at += 1;
    sections = records[at]?.status.startsWith("T") ? 1 : 0;
    if (at >= skip && at < skip + limit) {
      texts.set(at, { lines: [], bytes: 0, begun: false, tooLarge: false, collapsed: isFull() });
    }
  }

  return {
    read: (part: Buffer) => (inHunks ? readHunks : readRecords)(part.toString("latin1")),
    isDone: () => at >= skip + limit || isFull(),
    result: () => ({
      total,
      files: records.slice(skip).map((record, index): FileDiff => told(record, texts.get(skip + index), isFull())),
    }),
  };
}

/** As long as a path can be on a system that files are checked out on. */
const MAX_PATH_BYTES = 4096;

/** `:100644 100644 id id M`, a path, and for what was renamed another. */
function recordOf([head = "", oldPath, newPath]: readonly string[]): Changed | undefined {
  const [oldMode = "", newMode = "", oldId = "", newId = "", status = ""] = head.slice(1).split(" ");
  if (oldPath === undefined || (status.startsWith("R") && newPath === undefined)) return undefined;
  const paths = [oldPath, newPath ?? oldPath] as const;
  const truncated = paths.some((path) => path.length > MAX_PATH_BYTES);
  const ids = [oldId, newId];
  return { oldMode, newMode, status, ids, oldPath: pathOf(paths[0]), newPath: pathOf(paths[1]), truncated };
}

const pathOf = (latin1: string) =>
  latin1.length > MAX_PATH_BYTES ? `${utf8(latin1.slice(0, MAX_PATH_BYTES))}…` : utf8(latin1);

function told(record: Changed, text: Text | undefined, isFull: boolean): FileDiff {
  const { tooLarge = false, collapsed = isFull, lines = [] } = text ?? {};
  const kept = tooLarge || collapsed ? [] : lines;
  return { ...record, text: utf8(kept.map((line) => `${line}\n`).join("")), tooLarge, collapsed };
}

/** Bytes that are no UTF-8 become U+FFFD. */
const utf8 = (latin1: string) => Buffer.from(latin1, "latin1").toString("utf8");
