import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isExpectedOfServer, LogReader } from "./log-reader.ts";
import { Secrets } from "./secrets.ts";

const complaintsAbout = (line: object) => {
  const reader = new LogReader(new Secrets({}));
  reader.read([JSON.stringify(line)]);
  return [...reader.complaints.keys()];
};
const failed = (err: object) => ({ level: "warn", msg: "job failed", err: { message: "failed", ...err } });

describe("The reader of the log", () => {
  test("accepts background work that failed because of other requests", () => {
    for (const code of ["40001", "40P01", "23503"]) assert.deepEqual(complaintsAbout(failed({ code })), []);
    assert.deepEqual(complaintsAbout({ level: "warn", msg: "stopped removing merged branches" }), []);
  });

  test("reports the same work if it failed for another reason", () => {
    assert.deepEqual(complaintsAbout(failed({ type: "TypeError" })), ["the log says: job failed failed ()"]);
    assert.deepEqual(complaintsAbout(failed({ code: "22021" })), ["the log says: job failed failed ()"]);
  });

  test("reports an error of any cause, and a warning without one", () => {
    const error = { ...failed({ code: "40P01" }), level: "error" };
    assert.deepEqual(complaintsAbout(error), ["the log says: job failed failed ()"]);
    assert.deepEqual(complaintsAbout({ level: "warn", msg: "lost a shared database connection" }), [
      "the log says: lost a shared database connection ",
    ]);
  });

  test("accepts of a server that its repositories were replaced, but no other failure to reconcile a push", () => {
    const unreconciled = (err: object) =>
      isExpectedOfServer(JSON.stringify({ level: "warn", msg: "could not reconcile a push; will retry", err }));
    assert.ok(unreconciled({ message: "git cat-file ended with 128", type: "GitFailed" }));
    assert.ok(unreconciled({ message: "spawn git ENOENT", type: "Error", code: "ENOENT" }));
    assert.ok(!unreconciled({ message: "planted", type: "TypeError" }));
  });
});
