import type { Readable } from "node:stream";
import { badRequest } from "#lib/refusal.ts";
import { firstEvent } from "#lib/streams.ts";

/** The longest packet, its four digits of length included. */
const LONGEST = 65_520;
/** What fits into one. */
export const MOST_DATA = LONGEST - 4;
/** The packet that ends a list. */
export const FLUSH = Buffer.from("0000");

/** Data as git sends it: behind its length in four hexadecimal digits. */
export function packet(data: string | Buffer): Buffer {
  const bytes = Buffer.from(data);
  if (bytes.length > MOST_DATA) throw new RangeError("too long for one packet");
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
}

/** The data of the next packet of a stream, or null for the end of a list; what comes behind it stays there. */
export async function readPacket(input: Readable): Promise<Buffer | null> {
  const length = lengthOf(await take(input, 4));
  return length === 0 ? null : take(input, length - 4);
}

/** The packets up to the end of a list that is all there. */
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

const cutOff = () => badRequest("what git sent is cut off");

/** The length of a packet with its digits, or 0 for the end of a list. */
function lengthOf(digits: Buffer): number {
  const text = digits.toString("latin1");
  const length = /^[0-9a-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : -1;
  // 1 to 3 mark other things than data, in other exchanges than ours.
  if (length !== 0 && (length < 4 || length > LONGEST)) throw badRequest("what git sent is no packet");
  return length;
}

/** So many bytes off a stream and no more. */
async function take(input: Readable, length: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let left = length; left > 0;) {
    // Never more than there is: a stream that is asked for that says at once, and over again, that it can be read.
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
