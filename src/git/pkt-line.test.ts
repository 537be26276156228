import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import { Refusal } from "#lib/refusal.ts";
import { FLUSH, MOST_DATA, packet, packetsIn, readPacket } from "./pkt-line.ts";

const stream = (...chunks: (string | Buffer)[]) =>
  Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );
const text = async (input: Readable) => (await readPacket(input))?.toString() ?? null;

describe("packets of git", () => {
  test("are data behind its length", async () => {
    assert.equal(packet("hello\n").toString(), "000ahello\n");
    assert.equal(packet(Buffer.alloc(MOST_DATA)).toString("latin1", 0, 4), "fff0");
    assert.throws(() => packet(Buffer.alloc(MOST_DATA + 1)), RangeError);
  });

  test("are read off a stream one by one, and what follows stays there", async () => {
    const input = stream("000ahello\n0000", "PACK and", " more");
    assert.equal(await text(input), "hello\n");
    assert.equal(await text(input), null);
    assert.equal((await buffer(input)).toString(), "PACK and more");
  });

  test("may come in any pieces", async () => {
    const bytes = Buffer.concat([packet("one"), packet(""), packet("z".repeat(MOST_DATA)), FLUSH, Buffer.from("rest")]);
    for (const size of [1, 2, 3, 5, 1000, 65_519, 65_521]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const input = stream(...pieces);
      assert.equal(await text(input), "one");
      assert.equal(await text(input), "");
      assert.equal((await text(input))?.length, MOST_DATA);
      assert.equal(await text(input), null);
      const rest: Buffer[] = [];
      for await (const chunk of input) rest.push(chunk as Buffer);
      assert.equal(Buffer.concat(rest).toString(), "rest", `in pieces of ${size}`);
    }
  });

  test("are waited for, however long their parts take", { timeout: 5_000 }, async () => {
    const slow = new Readable({ read() {} });
    slow.push("00");
    setTimeout(() => slow.push("0ahel"), 20);
    setTimeout(() => slow.push("lo\n0000"), 40);
    assert.equal(await text(slow), "hello\n");
    assert.equal(await text(slow), null);
  });

  const WRONG = [
    "",
    "0",
    "000",
    "0006",
    "0006x",
    "0001",
    "0002",
    "0003",
    "fff1",
    "ffff",
    "-001",
    " 004",
    "zzzz",
    "0x04",
    "00\n4",
  ];
  for (const bytes of WRONG) {
    test(`${JSON.stringify(bytes)} is refused`, async () => {
      await assert.rejects(readPacket(stream(bytes)), isRefusal);
      assert.throws(() => packetsIn(Buffer.from(bytes)), isRefusal);
    });
  }

  test("of a stream that breaks off are refused, whenever it does", async () => {
    const gone = new Readable({ read() {} });
    gone.on("error", () => {});
    const reading = readPacket(gone);
    gone.push("000a");
    setImmediate(() => gone.destroy(new Error("reset")));
    await assert.rejects(reading, isRefusal);
    await assert.rejects(readPacket(gone), isRefusal);
  });

  test("are read to the end of a list", () => {
    assert.deepEqual(packetsIn(Buffer.from("0005a0005b00000005c")).map(String), ["a", "b"]);
    assert.throws(() => packetsIn(Buffer.from("0005a")), isRefusal);
  });
});

const isRefusal = (error: unknown) => error instanceof Refusal && error.kind === "invalid";
