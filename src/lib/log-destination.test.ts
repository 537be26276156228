import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { withDirectory } from "#test/support/command.ts";
import { until } from "#test/support/until.ts";
import { line, LONG, opened, withPipe, writeMany } from "./test-support.ts";

/** Reads everything that is in the pipe. */
function readAll(fd: number): string {
  const buffer = Buffer.alloc(65_536);
  let text = "";
  try {
    for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer))
      text += buffer.toString("utf8", 0, size);
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
  }
  return text;
}

describe("log destination", () => {
  test("a file gets every line, in order", () =>
    withDirectory(async (directory) => {
      const file = join(directory, "log");
      const fd = openSync(file, "w");
      const { destination, reports } = opened(fd);
      const all = Array.from({ length: 1_500 }, (_, number) => line(number));
      for (const each of all) destination.write(each);
      await until("all is written", async () => readFileSync(file, "utf8") === all.join(""));
      assert.deepEqual([destination.droppedLines(), reports], [0, []]);
      closeSync(fd);
    }));

  test("a reader that does not read keeps few lines waiting, and nothing waits for it", () =>
    withPipe(async (write, openReader) => {
      const reader = openReader();
      const { destination, reports } = opened(write);
      await writeMany(destination);
      destination.flushSync();
      const dropped = destination.droppedLines();
      assert.ok(dropped > 90_000, String(dropped));

      let text = "";
      // More than one report if the first write was still going on when lines were dropped.
      const reported = () => [...text.matchAll(/^dropped (\d+) /gm)].map(([, count]) => Number(count));
      const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
      const hasArrived = () => {
        text += readAll(reader);
        return text.match(/^\d+ x+$/gm)?.length === 100_000 - dropped && sum(reported()) === dropped;
      };
      await until("the rest and the reports have arrived", async () => hasArrived(), undefined, 5);
      assert.deepEqual([reports, destination.droppedLines()], [reported(), dropped]);
      closeSync(reader);
    }));

  test("lines without a reader are dropped until there is one again", () =>
    withPipe(async (write, openReader) => {
      const { destination } = opened(write);
      for (let number = 0; number < 100; number++) destination.write(line(number));
      await until("they are dropped", async () => destination.droppedLines() === 100);
      const reader = openReader();
      destination.write("back\n");
      let text = "";
      await until("the report arrives", async () => (text += readAll(reader)) === `back\ndropped 100 ${LONG}\n`);
      closeSync(reader);
    }));

  test("lines for a full disk are dropped and counted, and a synchronous flush ends", async () => {
    const fd = openSync("/dev/full", "w");
    const { destination, reports } = opened(fd);
    for (let number = 0; number < 100; number++) destination.write(line(number));
    destination.flushSync();
    await until("they are dropped", async () => destination.droppedLines() === 100);
    destination.write("one more\n");
    destination.flushSync();
    assert.equal(destination.droppedLines(), 101);
    assert.deepEqual(reports, []);
    closeSync(fd);
  });
});
