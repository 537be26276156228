import { GitFailed, type PlumbingCall, type Repository } from "#git/storages/storage.ts";
import { Refusal } from "#lib/refusal.ts";

const TOO_LONG = "This takes too long to find out in this repository; ask for less of it at once";
const TOO_MUCH_MEMORY =
  "This takes more memory than git may use here; ask for less of it at once, or clone the repository and look there";

/** What git could not finish in its time or memory is refused in words; everything else that goes wrong is a bug. */
export function explained(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error;
  if (error.outOfMemory) return new Refusal("too large", TOO_MUCH_MEMORY);
  if (!error.stderr.startsWith("out of time")) return error;
  return new Refusal("unavailable", `503 Service Unavailable - ${TOO_LONG}`, { retryAfter: 60 });
}

/** All that git writes, in parts as they come. Whoever takes no more of it ends it. */
export async function* partsOf(repository: Repository, call: PlumbingCall): AsyncGenerator<Buffer> {
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
  /** What ends a line. */
  readonly end?: string;
  readonly maxBytes?: number;
  /** Whether a longer line is refused, or cut to one byte more than it may have. */
  readonly overlong?: "refuse" | "cut";
}

/**
 * Splits text that comes in parts into its lines. What is left of a part is joined once, when its line ends, and never
 * grows past the bound. Text is Latin-1, which keeps bytes apart until a line is whole.
 */
export function lineSplitter({ end = "\n", maxBytes = MAX_LINE_BYTES, overlong = "refuse" }: LineOptions = {}) {
  let rest: string[] = [];
  let length = 0;

  const bounded = (line: string): string => {
    if (line.length <= maxBytes) return line;
    if (overlong === "refuse") throw new Refusal("too large", "A name in this repository is too large for an answer");
    return line.slice(0, maxBytes + 1);
  };

  return (part: string): string[] => {
    const lines = part.split(end);
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

/** Lines as they come, some at a time. Bytes that are no UTF-8 become U+FFFD. */
export async function* linesOf(
  repository: Repository,
  call: PlumbingCall,
  options: LineOptions = {},
): AsyncGenerator<string[]> {
  const split = lineSplitter(options);
  for await (const part of partsOf(repository, call)) {
    yield split(part.toString("latin1")).map((line) => Buffer.from(line, "latin1").toString("utf8"));
  }
}

/** The lines of an answer that is known to be short. */
export async function allLines(repository: Repository, call: PlumbingCall): Promise<string[]> {
  const lines: string[] = [];
  for await (const some of linesOf(repository, call)) lines.push(...some);
  return lines;
}
