import assert from "node:assert/strict";
import { describe, test } from "node:test";
import pino from "pino";
import { logOptions, readable } from "./log-format.ts";

/** What a logger writes with the options of every process. */
function logged(write: (log: pino.Logger) => void): string[] {
  const lines: string[] = [];
  write(pino(logOptions("info"), { write: (line) => lines.push(line) }));
  return lines;
}

describe("log format", () => {
  test("times are ISO 8601 and levels are words", () => {
    const [info, fatal, ...more] = logged((log) => {
      log.info({ port: 1 }, "listening");
      log.debug("not logged");
      log.child({ part: "x" }).fatal("over");
    });
    assert.deepEqual(more, []);
    const time = /"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/;
    assert.match(info ?? "", new RegExp(`^\\{"level":"info",${time.source},"port":1,"msg":"listening"\\}\n$`));
    assert.match(fatal ?? "", new RegExp(`^\\{"level":"fatal",${time.source},"part":"x","msg":"over"\\}\n$`));
  });

  test("people read the message first, then the fields", () => {
    const line = { time: "2026-11-16T09:26:53.589Z", level: "warn", msg: "job failed", id: 7, name: "a b", ok: true };
    const text = '2026-11-16T09:26:53.589Z WARN  job failed id=7 name="a b" ok=true\n';
    assert.equal(readable(JSON.stringify(line)), text);
  });

  test("a stack follows on lines of its own", () => {
    const [line = ""] = logged((log) => log.error({ err: new Error("sunk"), id: 7 }, "unexpected failure"));
    assert.match(readable(line), /^\S+ ERROR unexpected failure id=7\n {4}Error: sunk\n {8}at .+:\d+:\d+\)?\n/);
  });

  test("no text controls the terminal", () => {
    const hostile = { time: "now", level: "info", msg: "a\u001b[31m\u009b2Jb\r", path: "\u0007" };
    assert.doesNotMatch(readable(JSON.stringify(hostile)), /(?!\n)\p{Cc}/u);
  });
});
