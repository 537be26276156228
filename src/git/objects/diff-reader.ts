/** A file that differs, as a record of `diff-tree --raw` tells it; texts are Latin-1, which keeps their bytes. */
interface Changed {
  readonly oldPath: string;
  readonly newPath: string;
  readonly oldMode: string;
  readonly newMode: string;
  readonly status: string;
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
  let rest = "";
  let at = -1;
  /** Sections of the file that are still to come: what became another kind of thing is deleted first, then added. */
  let sections = 0;
  let [bytes, lines] = [0, 0];

  function readRecords(part: string) {
    const given = (rest + part).split("\0");
    rest = given.pop() ?? "";
    for (const [index, field] of given.entries()) {
      if (field === "" && fields.length === 0) {
        inHunks = true;
        const hunks = [...given.slice(index + 1), rest].join("\0");
        rest = "";
        return readHunks(hunks);
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
    const given = (rest + part).split("\n");
    rest = given.pop() ?? "";
    for (const line of given) readLine(line);
    // A line that long is not kept, and how it begins is all that matters of it.
    if (rest.length > limits.fileBytes) {
      const text = texts.get(at);
      if (text) text.tooLarge = true;
      rest = rest.slice(0, 1);
    }
  }

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
    text.collapsed = bytes > limits.bytes || lines > limits.lines;
    text.lines.push(line);
  }

  function beginFile() {
    const text = texts.get(at);
    if (text) text.begun = false;
    if (sections > 0) return void (sections -= 1);
    at += 1;
    sections = records[at]?.status.startsWith("T") ? 1 : 0;
    if (at >= skip && at < skip + limit) {
      const collapsed = bytes > limits.bytes || lines > limits.lines;
      texts.set(at, { lines: [], bytes: 0, begun: false, tooLarge: false, collapsed });
    }
  }

  return {
    read: (part: Buffer) => (inHunks ? readHunks : readRecords)(part.toString("latin1")),
    isDone: () => at >= skip + limit,
    result: () => ({
      total,
      files: records.slice(skip).map((record, index): FileDiff => told(record, texts.get(skip + index))),
    }),
  };
}

/** `:100644 100644 id id M`, a path, and for what was renamed another. */
function recordOf([head = "", oldPath, newPath]: readonly string[]): Changed | undefined {
  const [oldMode = "", newMode = "", , , status = ""] = head.slice(1).split(" ");
  if (oldPath === undefined || (status.startsWith("R") && newPath === undefined)) return undefined;
  return { oldMode, newMode, status, oldPath: utf8(oldPath), newPath: utf8(newPath ?? oldPath) };
}

function told(record: Changed, text: Text | undefined): FileDiff {
  const { tooLarge = false, collapsed = false, lines = [] } = text ?? {};
  const kept = tooLarge || collapsed ? [] : lines;
  return { ...record, text: utf8(kept.map((line) => `${line}\n`).join("")), tooLarge, collapsed };
}

/** Bytes that are no UTF-8 become U+FFFD. */
const utf8 = (latin1: string) => Buffer.from(latin1, "latin1").toString("utf8");
