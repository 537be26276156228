import assert from "node:assert/strict";
import { PassThrough, Readable } from "node:stream";
import { describe, test } from "node:test";
import { drain, firstEvent } from "./streams.ts";

describe("streams", () => {
  test("are drained to their end", async () => {
    const input = Readable.from([Buffer.alloc(60), Buffer.alloc(40)], { objectMode: false });
    await drain(input, { bytes: 100, time: 5_000 });
    assert.ok(input.readableEnded);
    await drain(input, { bytes: 100, time: 5_000 });
  });

  test("are drained even if another reader has begun", async () => {
    const input = new PassThrough();
    const other = new PassThrough();
    input.pipe(other);
    input.write(Buffer.alloc(100_000));
    input.unpipe(other);
    input.end();
    await drain(input, { bytes: 1_000_000, time: 5_000 });
    assert.ok(input.readableEnded);
  });

  test("are destroyed if they are too long or too slow", async () => {
    const long = new PassThrough();
    long.write(Buffer.alloc(101));
    await drain(long, { bytes: 100, time: 5_000 });
    assert.ok(long.destroyed);
    const slow = new PassThrough();
    await drain(slow, { bytes: 100, time: 20 });
    assert.ok(slow.destroyed);
  });

  test("have no listeners left after the first event", async () => {
    const input = new PassThrough();
    const waiting = firstEvent(input, "drain", "close");
    input.destroy();
    await waiting;
    assert.equal(input.listenerCount("drain") + input.listenerCount("close"), 0);
  });
});
