import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FLUSH, packet, packetsIn } from "./pkt-line.ts";
import { encodeReport, parseReport } from "./report.ts";

const capabilities = { report: true, sideBand: true, quiet: false, atomic: false };
const report = {
  unpack: "ok",
  changed: new Set(["refs/heads/main", "refs/heads/next"]),
  problems: new Map([["refs/tags/v1", "you are not allowed to"]]),
};
const PLAIN =
  "000eunpack ok\n0017ok refs/heads/main\n0017ok refs/heads/next\n002bng refs/tags/v1 you are not allowed to\n0000";

describe("the report of a push", () => {
  test("the report has the format that git writes and reads", () => {
    assert.equal(encodeReport(report, { ...capabilities, sideBand: false }).toString(), PLAIN);
    assert.deepEqual(parseReport(Buffer.from(PLAIN)), report);
  });

  test("with side-band the report is in band 1", () => {
    const [only, ...more] = packetsIn(encodeReport(report, capabilities));
    assert.equal(only?.toString(), `\x01${PLAIN}`);
    assert.equal(more.length, 0);
  });

  test("a long report is sent in several packets", () => {
    const changed = new Set(Array.from({ length: 5_000 }, (_, at) => `refs/heads/branch-${at}`));
    const parts = packetsIn(encodeReport({ ...report, changed }, capabilities));
    assert.ok(parts.length > 1);
    assert.ok(parts.every((part) => part[0] === 1));
    assert.deepEqual(parseReport(Buffer.concat(parts.map((part) => part.subarray(1)))).changed, changed);
  });

  test("the report is sent only to a client that requested it", () => {
    assert.equal(encodeReport(report, { ...capabilities, report: false }).toString(), "0000");
    assert.equal(encodeReport(report, { ...capabilities, report: false, sideBand: false }).length, 0);
  });

  test("a malformed report throws", () => {
    assert.throws(() => parseReport(Buffer.concat([packet("ok refs/heads/main\n"), FLUSH])));
    assert.throws(() => parseReport(Buffer.from(PLAIN.slice(0, -1))));
    assert.throws(() => parseReport(Buffer.alloc(0)));
  });
});
