import type { Readable } from "node:stream";
import { badRequest } from "#lib/refusal.ts";
import { firstEvent } from "#lib/streams.ts";

/** The longest packet, including its four length digits. */
const MAX_PACKET_BYTES = 65_520;
/** The longest payload of a packet. */
export const MAX_PACKET_DATA_BYTES = MAX_PACKET_BYTES - 4;
/** The flush packet, which ends a list. */
export const FLUSH = Buffer.from("0000");

/** Encodes data as a pkt-line: four hexadecimal digits of length, then the data. */
export function packet(data: string | Buffer): Buffer {
  const bytes = Buffer.from(data);
  if (bytes.length > MAX_PACKET_DATA_BYTES) throw new RangeError("too long for one packet");
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
}

/** Reads the next packet of a stream and no byte further; null is a flush packet. */
export async function readPacket(input: Readable): Promise<Buffer | null> {
  const length = lengthOf(await readBytes(input, 4));
  return length === 0 ? null : readBytes(input, length - 4);
}

/** The packets of a complete list. */
export function packetsIn(bytes: Buffer): Buffer[] {
  const packets: Buffer[] = [];
  for (let at = 0; ;) {
    if (at + 4 > bytes.length) throw cutOff();
    const length = lengthOf(bytes.subarray(at, at + 4));
    if (length === 0) return packets;
    if (at + length > bytes.length) throw cutOff();
    packets.push(bytes.subarray(at + 4, at + length));
    at += length;
  }
}

const cutOff = () => badRequest("the request is cut off");

/** The length of a packet including its digits; 0 for a flush packet. */
function lengthOf(digits: Buffer): number {
  const text = digits.toString("latin1");
  const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : -1;
  // 1 to 3 are the special packets of protocol version 2.
  if (length !== 0 && (length < 4 || length > MAX_PACKET_BYTES)) throw badRequest("the request has a malformed packet");
  return length;
}

/** Reads exactly this many bytes of a stream. */
async function readBytes(input: Readable, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let left = length; left > 0;) {
    // Never more than is buffered: otherwise the stream emits `readable` again at once, in a busy loop.
    const part = input.readableLength > 0 ? (input.read(Math.min(left, input.readableLength)) as Buffer | null) : null;
    if (part) {
      parts.push(part);
      left -= part.length;
    } else {
      if (input.readableEnded || input.destroyed) throw cutOff();
      await firstEvent(input, "readable", "end", "error", "close");
    }
  }
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}
