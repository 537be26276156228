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

/** Lines as they come, some at a time; `end` is what ends one. Bytes that are no UTF-8 become U+FFFD. */
export async function* linesOf(repository: Repository, call: PlumbingCall, end = "\n"): AsyncGenerator<string[]> {
  let rest = "";
  for await (const part of partsOf(repository, call)) {
    // Latin-1 keeps bytes apart until a line is whole.
    const lines = (rest + part.toString("latin1")).split(end);
    rest = lines.pop() ?? "";
    yield lines.map((line) => Buffer.from(line, "latin1").toString("utf8"));
  }
}

/** The lines of an answer that is known to be short. */
export async function allLines(repository: Repository, call: PlumbingCall): Promise<string[]> {
  const lines: string[] = [];
  for await (const some of linesOf(repository, call)) lines.push(...some);
  return lines;
}
