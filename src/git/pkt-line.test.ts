import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import { Refusal } from "#lib/refusal.ts";
import { FLUSH, MAX_PACKET_DATA_BYTES, packet, packetsIn, readPacket } from "./pkt-line.ts";

const stream = (...chunks: (string | Buffer)[]) =>
  Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );
const text = async (input: Readable) => (await readPacket(input))?.toString() ?? null;

describe("pkt-lines", () => {
  test("a packet is its length in four hexadecimal digits and its data", async () => {
    assert.equal(packet("hello\n").toString(), "000ahello\n");
    assert.equal(packet(Buffer.alloc(MAX_PACKET_DATA_BYTES)).toString("latin1", 0, 4), "fff0");
    assert.throws(() => packet(Buffer.alloc(MAX_PACKET_DATA_BYTES + 1)), RangeError);
  });

  test("packets are read from a stream one at a time, and what follows stays in the stream", async () => {
    const input = stream("000ahello\n0000", "PACK and", " more");
    assert.equal(await text(input), "hello\n");
    assert.equal(await text(input), null);
    assert.equal((await buffer(input)).toString(), "PACK and more");
  });

  test("packets may arrive in chunks of any size", async () => {
    const bytes = Buffer.concat([
      packet("one"),
      packet(""),
      packet("z".repeat(MAX_PACKET_DATA_BYTES)),
      FLUSH,
      Buffer.from("rest"),
    ]);
    for (const size of [1, 2, 3, 5, 1000, 65_519, 65_521]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const input = stream(...chunks);
      assert.equal(await text(input), "one");
      assert.equal(await text(input), "");
      assert.equal((await text(input))?.length, MAX_PACKET_DATA_BYTES);
      assert.equal(await text(input), null);
      const rest: Buffer[] = [];
      for await (const chunk of input) rest.push(chunk as Buffer);
      assert.equal(Buffer.concat(rest).toString(), "rest", `in chunks of ${size}`);
    }
  });

  test("a reader waits for the rest of a packet", { timeout: 60_000 }, async () => {
    const slow = new Readable({ read() {} });
    slow.push("00");
    setTimeout(() => slow.push("0ahel"), 20);
    setTimeout(() => slow.push("lo\n0000"), 40);
    assert.equal(await text(slow), "hello\n");
    assert.equal(await text(slow), null);
  });

  const MALFORMED = [
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
  for (const bytes of MALFORMED) {
    test(`${JSON.stringify(bytes)} is refused as a packet`, async () => {
      await assert.rejects(readPacket(stream(bytes)), isRefusal);
      assert.throws(() => packetsIn(Buffer.from(bytes)), isRefusal);
    });
  }

  test("a stream that breaks off is refused during a read and before it", async () => {
    const gone = new Readable({ read() {} });
    gone.on("error", () => {});
    const reading = readPacket(gone);
    gone.push("000a");
    setImmediate(() => gone.destroy(new Error("reset")));
    await assert.rejects(reading, isRefusal);
    await assert.rejects(readPacket(gone), isRefusal);
  });

  test("a list is read to its flush packet", () => {
    assert.deepEqual(packetsIn(Buffer.from("0005a0005b00000005c")).map(String), ["a", "b"]);
    assert.throws(() => packetsIn(Buffer.from("0005a")), isRefusal);
  });
});

const isRefusal = (error: unknown) => error instanceof Refusal && error.kind === "invalid";
