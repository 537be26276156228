import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { type LargeFile, serveLargeFile } from "./slow-clients.fixtures.ts";

const MAX_GROWTH_MEGABYTES = 150;

const residentMegabytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

describe("a server with clients that request large responses and do not read them", () => {
  let served: LargeFile;
  before(async () => {
    served = await serveLargeFile();
  });
  after(() => served.close());

  test("holds few of the responses in memory", async () => {
    const { get, target, pid } = served;
    // The first response warms up what every later one uses.
    await (await get(target)).arrayBuffer();
    const before = residentMegabytes(pid);
    await served.headsOnly();
    const growth = residentMegabytes(pid) - before;
    assert.ok(growth < MAX_GROWTH_MEGABYTES, `memory grew by ${Math.round(growth)} MB`);
  });
});
