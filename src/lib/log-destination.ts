import { constants, openSync, write, writeSync } from "node:fs";
import { isatty } from "node:tty";

/** Where a logger writes its lines. */
export interface LogDestination {
  write(line: string): void;
  /** Writes what can be written at once; never waits for a reader. */
  flushSync(): void;
  /** The number of lines that could not be written. */
  droppedLines(): number;
}

/** Lines are gathered up to this size or time, so that there are few writes. */
const BATCH_CHARS = 16 * 1024;
const FLUSH_INTERVAL_MS = 250;
/** What waits for a slow reader; further lines are dropped. */
const MAX_WAITING_CHARS = 2 * 2 ** 20;
/** How often a full pipe is tried again, and for how long when the process ends. */
const RETRY_INTERVAL_MS = 20;
const MAX_EXIT_WAIT_MS = 500;
const NEWLINE = 10;

/**
 * Writes lines to a descriptor. Logging must never stop the service: a line that cannot be written is dropped and
 * counted, and `onDropped` is called with the number of dropped lines once writing works again.
 */
export function logDestination(fd: number, onDropped: (lines: number) => void): LogDestination {
  const queue = lineQueue(onDropped);
  let isWriting = false;
  let isFull = false;
  let timer: NodeJS.Timeout | undefined;

  const sendLater = (ms: number) => {
    timer ??= setTimeout(() => {
      timer = undefined;
      send();
    }, ms).unref();
  };

  function send() {
    const bytes = isWriting ? undefined : queue.nextBatch();
    if (!bytes) return;
    isWriting = true;
    write(fd, bytes, (error, written) => {
      isWriting = false;
      isFull = queue.finishWrite(bytes, error, written);
      if (isFull) sendLater(RETRY_INTERVAL_MS);
      else if (queue.isBatchDue()) send();
      else if (queue.isWaiting()) sendLater(FLUSH_INTERVAL_MS);
    });
  }

  /** Writes what can be written at once; false if a reader has to make room for the rest. */
  function flush(): boolean {
    // What a thread is writing must not be overtaken, or written twice.
    if (isWriting) return true;
    for (let bytes = queue.nextBatch(); bytes; bytes = queue.nextBatch()) {
      try {
        isFull = queue.finishWrite(bytes, null, writeSync(fd, bytes));
      } catch (error) {
        isFull = queue.finishWrite(bytes, error as NodeJS.ErrnoException, 0);
      }
      if (isFull) return false;
    }
    return true;
  }

  function flushAtExit() {
    const deadline = Date.now() + MAX_EXIT_WAIT_MS;
    while (!flush() && Date.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_INTERVAL_MS);
    }
  }
  process.once("exit", flushAtExit);

  return {
    write(line) {
      if (!queue.add(line)) return;
      if (queue.isBatchFull() && !isFull) send();
      else sendLater(FLUSH_INTERVAL_MS);
    },
    flushSync: () => void flush(),
    droppedLines: queue.droppedLines,
  };
}

/** The lines that wait to be written, gathered in batches. */
function lineQueue(onDropped: (lines: number) => void) {
  const drops = dropCounter(onDropped);
  let lines: string[] = [];
  let waitingChars = 0;
  /** What is being written, of which a part may have been written. */
  let batch: Buffer | undefined;
  /** Whether the output ends in the middle of a line. */
  let isCut = false;

  const isWaiting = () => lines.length > 0 || drops.hasReport();
  return {
    droppedLines: drops.total,
    isWaiting,
    isBatchFull: () => waitingChars >= BATCH_CHARS,
    isBatchDue: () => batch !== undefined || waitingChars >= BATCH_CHARS,
    /** Adds a line; false if there is nothing new to write. */
    add(line: string): boolean {
      if (drops.takeReport(line)) return false;
      if (waitingChars + line.length > MAX_WAITING_CHARS) {
        drops.add(1);
        return false;
      }
      lines.push(line);
      waitingChars += line.length;
      return true;
    },
    nextBatch(): Buffer | undefined {
      if (batch || !isWaiting()) return batch;
      batch = Buffer.from((isCut ? "\n" : "") + drops.nextReport() + lines.join(""));
      lines = [];
      waitingChars = 0;
      return batch;
    },
    /** Handles the outcome of a write; true if a reader has to make room before the rest is written. */
    finishWrite(bytes: Buffer, error: NodeJS.ErrnoException | null, written: number): boolean {
      if (error?.code === "EAGAIN") return true;
      if (error) {
        batch = undefined;
        drops.reportFailed();
        drops.add(countLines(bytes));
        return false;
      }
      if (written > 0) {
        isCut = bytes[written - 1] !== NEWLINE;
        drops.reportWritten();
      }
      batch = written < bytes.length ? bytes.subarray(written) : undefined;
      if (!batch) drops.reportIfDue();
      return false;
    },
  };
}

/** Counts dropped lines; the logger writes a line that reports them, with which the next batch begins. */
function dropCounter(onDropped: (lines: number) => void) {
  let total = 0;
  /** Of the dropped lines, those in no report, and those in the report of the current batch. */
  let unreported = 0;
  let reporting = 0;
  let report: string | undefined;
  let isReporting = false;
  return {
    total: () => total,
    add(count: number) {
      total += count;
      unreported += count;
    },
    /** Takes a line if it is the report that the logger is writing. */
    takeReport(line: string): boolean {
      if (isReporting) report = line;
      return isReporting;
    },
    hasReport: () => report !== undefined,
    nextReport(): string {
      const line = report ?? "";
      report = undefined;
      return line;
    },
    reportWritten() {
      reporting = 0;
    },
    reportFailed() {
      unreported += reporting;
      reporting = 0;
    },
    reportIfDue() {
      if (unreported === 0) return;
      reporting = unreported;
      unreported = 0;
      isReporting = true;
      onDropped(reporting);
      isReporting = false;
    },
  };
}

/** A newline at the start only ends a line that was written before. */
function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, 1); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Keeps a reader of our outputs that went away from being an uncaught exception. */
export function ignoreLostReaders() {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

/** A descriptor of standard output or error on which a write does not wait for a reader. */
export function standardOutput(name: "stdout" | "stderr"): number {
  const { fd } = process[name];
  // Node.js has just made a pipe or socket non-blocking, but writes to a terminal wait while it is paused.
  if (!isatty(fd)) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}

/** Opens a file so that several processes can append to it. */
export function openLogFile(path: string): number {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o640);
}
