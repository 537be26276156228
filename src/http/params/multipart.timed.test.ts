import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MULTIPART_LIMITS } from "./multipart.ts";
import { HOSTILE_UNITS, readForm } from "./test-support.ts";

describe("a form that is refused", () => {
  it("costs little, however hostile", async () => {
    for (const unit of HOSTILE_UNITS) {
      const body = Buffer.alloc(MULTIPART_LIMITS.totalBytes, unit);
      const start = process.threadCpuUsage();
      await readForm(body).catch(() => undefined);
      const took = process.threadCpuUsage(start).user / 1_000;
      assert.ok(took < 250, `${JSON.stringify(unit)} ${took} ms`);
    }
  });
});
