import { lineSplitter } from "./output.ts";

/** A changed file as `diff-tree --raw` reports it; texts are Latin-1, which preserves their bytes. */
interface ChangedFile {
  readonly oldPath: string;
  readonly newPath: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly status: string;
  /** The old and the new blob. */
  readonly ids: readonly string[];
  /** Whether its paths were truncated. */
  readonly truncated: boolean;
}

export interface FileDiff extends ChangedFile {
  /** Its hunks, or a line that explains why there are none. */
  readonly text: string;
  /** Whether its hunks exceed the limit of one file. */
  readonly tooLarge: boolean;
  /** Whether its hunks are left out because the files before it used up the limit. */
  readonly collapsed: boolean;
}

/** Limits of one diff. */
export interface DiffLimits {
  readonly fileBytes: number;
  readonly bytes: number;
  readonly lines: number;
}

/** A page of the changed files. */
interface FileRange {
  readonly skip: number;
  readonly limit: number;
}

/** The hunks of a file, as far as they were read. */
interface Hunks {
  readonly lines: string[];
  bytes: number;
  begun: boolean;
  tooLarge: boolean;
  collapsed: boolean;
}

/**
 * Parses the output of `diff-tree -z --raw -p`: a record for each file, an empty one, then the hunks of each file in the
 * same order.
 */
export function diffReader(range: FileRange, limits: DiffLimits) {
  const records = recordReader(range);
  const hunks = hunkReader(range, limits, records.changed);
  let inHunks = false;
  return {
    read(chunk: Buffer) {
      const text = chunk.toString("latin1");
      if (inHunks) return hunks.read(text);
      const rest = records.read(text);
      if (rest === undefined) return;
      inHunks = true;
      hunks.read(rest);
    },
    isDone: hunks.isDone,
    result: () => ({
      total: records.total(),
      files: records.changed
        .slice(range.skip)
        .map((file, index): FileDiff => fileDiff(file, hunks.of(range.skip + index), hunks.isFull())),
    }),
  };
}

/** Reads the changed files up to the end of the range, and counts all of them. */
function recordReader({ skip, limit }: FileRange) {
  const changed: ChangedFile[] = [];
  let total = 0;
  let fields: string[] = [];
  const split = lineSplitter({ end: "\0", maxBytes: MAX_PATH_BYTES, overlong: "cut" });

  /** Field by field, because the hunks after the empty record are split by lines. Returns what follows the records. */
  function read(part: string): string | undefined {
    let start = 0;
    while (start < part.length) {
      const end = part.indexOf("\0", start) + 1;
      const [field] = split(part.slice(start, end === 0 ? undefined : end));
      if (field === undefined) return undefined;
      start = end;
      if (field === "" && fields.length === 0) return part.slice(start);
      fields.push(field);
      const record = recordOf(fields);
      if (!record) continue;
      fields = [];
      total += 1;
      if (total <= skip + limit) changed.push(record);
    }
    return undefined;
  }

  return { read, changed: changed as readonly ChangedFile[], total: () => total };
}

/** Reads the hunks of the range. No line of a hunk begins with `diff`, so the start of a file is unambiguous. */
function hunkReader({ skip, limit }: FileRange, limits: DiffLimits, changed: readonly ChangedFile[]) {
  const texts = new Map<number, Hunks>();
  let at = -1;
  // A line longer than the limit of a file makes the file too large, and is dropped.
  const split = lineSplitter({ maxBytes: limits.fileBytes, overlong: "cut" });
  /** Remaining sections of the file: a change of type is a deletion followed by an addition. */
  let sections = 0;
  let [bytes, lines] = [0, 0];

  /** Whether the limit is used up, so that no further hunks are needed. */
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
    sections = changed[at]?.status.startsWith("T") ? 1 : 0;
    if (at >= skip && at < skip + limit) {
      texts.set(at, { lines: [], bytes: 0, begun: false, tooLarge: false, collapsed: isFull() });
    }
  }

  return {
    read(part: string) {
      for (const line of split(part)) readLine(line);
    },
    of: (index: number) => texts.get(index),
    isFull,
    isDone: () => at >= skip + limit || isFull(),
  };
}

/** The longest path that a file system can check out. */
const MAX_PATH_BYTES = 4096;

/** Parses `:100644 100644 id id M`, a path, and a second path for a rename. */
function recordOf([head = "", oldPath, newPath]: readonly string[]): ChangedFile | undefined {
  const [oldMode = "", newMode = "", oldId = "", newId = "", status = ""] = head.slice(1).split(" ");
  if (oldPath === undefined || (status.startsWith("R") && newPath === undefined)) return undefined;
  const paths = [oldPath, newPath ?? oldPath] as const;
  const truncated = paths.some((path) => path.length > MAX_PATH_BYTES);
  const ids = [oldId, newId];
  return { oldMode, newMode, status, ids, oldPath: pathOf(paths[0]), newPath: pathOf(paths[1]), truncated };
}

const pathOf = (latin1: string) =>
  latin1.length > MAX_PATH_BYTES ? `${utf8(latin1.slice(0, MAX_PATH_BYTES))}…` : utf8(latin1);

function fileDiff(record: ChangedFile, text: Hunks | undefined, isFull: boolean): FileDiff {
  const { tooLarge = false, collapsed = isFull, lines = [] } = text ?? {};
  const shown = tooLarge || collapsed ? [] : lines;
  return { ...record, text: utf8(shown.map((line) => `${line}\n`).join("")), tooLarge, collapsed };
}

/** Bytes that are not UTF-8 become U+FFFD. */
const utf8 = (latin1: string) => Buffer.from(latin1, "latin1").toString("utf8");
