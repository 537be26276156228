import { GitFailed, type PlumbingCall, type Repository } from "#git/storages/storage.ts";
import { Refusal } from "#lib/refusal.ts";

const TOO_LONG = "This takes too long to find out in this repository; ask for less of it at once";
const TOO_MUCH_MEMORY =
  "This takes more memory than git may use here; ask for less of it at once, or clone the repository and look there";

/** Turns a git that ran out of time or memory into a refusal that says so; returns every other error as it is. */
export function explained(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error;
  if (error.outOfMemory) return new Refusal("too large", TOO_MUCH_MEMORY);
  if (!error.stderr.startsWith("out of time")) return error;
  return new Refusal("unavailable", `503 Service Unavailable - ${TOO_LONG}`, { retryAfter: 60 });
}

/** Streams the output of a command; git is stopped when the reader stops early. */
export async function* chunksOf(repository: Repository, call: PlumbingCall): AsyncGenerator<Buffer> {
  const running = await repository.run(call);
  try {
    yield* running.output as AsyncIterable<Buffer>;
    await running.ended;
  } catch (error) {
    throw explained(error);
  } finally {
    running.stop();
  }
}

const MAX_LINE_BYTES = 64 * 1024;

interface LineOptions {
  /** The character that ends a line; by default a line feed. */
  readonly end?: string;
  readonly maxBytes?: number;
  /** Whether a longer line is refused, or cut to one byte more than the limit. */
  readonly overlong?: "refuse" | "cut";
}

/**
 * Splits chunks of text into lines. The rest of a chunk is joined once, when its line ends, and never grows past the
 * limit. The text is Latin-1, which preserves bytes until a line is complete.
 */
export function lineSplitter({ end = "\n", maxBytes = MAX_LINE_BYTES, overlong = "refuse" }: LineOptions = {}) {
  let rest: string[] = [];
  let length = 0;

  const bounded = (line: string): string => {
    if (line.length <= maxBytes) return line;
    if (overlong === "refuse") throw new Refusal("too large", "A name in this repository is too large for an answer");
    return line.slice(0, maxBytes + 1);
  };

  return (chunk: string): string[] => {
    const lines = chunk.split(end);
    const last = lines.pop() ?? "";
    if (lines.length > 0) {
      lines[0] = rest.join("") + (lines[0] ?? "");
      [rest, length] = [[], 0];
    }
    if (length <= maxBytes) rest.push(last);
    length += last.length;
    if (length > maxBytes) rest = [bounded(rest.join(""))];
    return lines.map(bounded);
  };
}

/** Streams lines in batches. Bytes that are not UTF-8 become U+FFFD. */
export async function* linesOf(
  repository: Repository,
  call: PlumbingCall,
  options: LineOptions = {},
): AsyncGenerator<string[]> {
  const split = lineSplitter(options);
  for await (const chunk of chunksOf(repository, call)) {
    yield split(chunk.toString("latin1")).map((line) => Buffer.from(line, "latin1").toString("utf8"));
  }
}

/** All lines of an answer that is known to be short. */
export async function allLines(repository: Repository, call: PlumbingCall): Promise<string[]> {
  const lines: string[] = [];
  for await (const some of linesOf(repository, call)) lines.push(...some);
  return lines;
}
