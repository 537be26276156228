import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createDeflate, deflateSync } from "node:zlib";
import { FLUSH, packet } from "#git/pkt-line.ts";
import { send } from "#test/support/wire.ts";
import type { Installation, Project } from "./installation.ts";

export const ZERO = "0".repeat(40);

/** Pushes a handmade pack as the administrator. */
export function pushPack(installation: Installation, project: Project, pack: Buffer, id: string) {
  const { url, token } = installation.server();
  const words = " report-status side-band-64k agent=test";
  return send(Number(new URL(url).port), "POST", `/${project.path}.git/git-receive-pack`, {
    headers: {
      host: "localhost",
      authorization: `Basic ${Buffer.from(`root:${token}`).toString("base64")}`,
      "content-type": "application/x-git-receive-pack-request",
    },
    body: Buffer.concat([packet(`${ZERO} ${id} refs/heads/bomb\0${words}`), FLUSH, pack]),
  });
}

/** Types of objects that are packed as an object of more than a gigabyte, more than the memory limit of git. */
export const BOMBS = { "a file": 3, "a directory": 2, "a commit": 1 } as const;
const BOMB_MEGABYTES = 1_100;
let zeros: Promise<Buffer> | undefined;

/** A small pack with an object of this type that has more than a gigabyte. */
export const bombOf = async (type: (typeof BOMBS)[keyof typeof BOMBS]): Promise<Buffer> =>
  packOf([
    Buffer.concat([objectHead(type, BOMB_MEGABYTES * 2 ** 20), await (zeros ??= deflatedZeros(BOMB_MEGABYTES))]),
  ]);

/** Megabytes of zeros as in a pack, compressed without holding all of them in memory. */
async function deflatedZeros(megabytes: number): Promise<Buffer> {
  const parts = Readable.from(Array.from({ length: megabytes }, () => ZEROS));
  return buffer(parts.pipe(createDeflate()));
}

const ZEROS = Buffer.alloc(2 ** 20);
export const TYPES = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" } as const;

/** Encodes type and length of an object in a pack: four bits of the length, then seven a byte. */
export function objectHead(type: number, length: number): Buffer {
  const bytes = [(type << 4) | (length % 16)];
  for (let rest = Math.floor(length / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

export function packOf(objects: readonly Buffer[]): Buffer {
  const head = Buffer.from("PACK\0\0\0\u0002\0\0\0\0", "latin1");
  head.writeUInt32BE(objects.length, 8);
  const body = Buffer.concat([head, ...objects]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

/** A small file and a chain of deltas that each repeat the previous one many times. */
export function deltaBomb(levels: number, times: number) {
  const base = Buffer.alloc(60_000);
  const objects = [Buffer.concat([objectHead(3, base.length), deflateSync(base)])];
  let length = base.length;
  let id = objectId("blob", base);
  for (let level = 0; level < levels; level++) {
    const result = length * times;
    const copies = Array.from({ length: times * Math.ceil(length / 0xffffff) }, (_, n) => {
      const offset = (n % Math.ceil(length / 0xffffff)) * 0xffffff;
      return copyOf(offset, Math.min(0xffffff, length - offset));
    });
    const delta = Buffer.concat([sizeOf(length), sizeOf(result), ...copies]);
    objects.push(Buffer.concat([objectHead(7, delta.length), Buffer.from(id, "hex"), deflateSync(delta)]));
    if (level < levels - 1) id = objectId("blob", Buffer.alloc(result));
    length = result;
  }
  // Git checks all of them, whichever the ref points to.
  return { pack: packOf(objects), id };
}

export const objectId = (type: string, content: Buffer) =>
  createHash("sha1").update(`${type} ${content.length}\0`).update(content).digest("hex");

/** Encodes seven bits a byte, the lowest first. */
function sizeOf(size: number): Buffer {
  const bytes = [size % 128];
  for (let rest = Math.floor(size / 128); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
    bytes.push(rest % 128);
  }
  return Buffer.from(bytes);
}

const copyOf = (offset: number, length: number): Buffer =>
  Buffer.of(
    0xff,
    ...[offset & 0xff, (offset >> 8) & 0xff, (offset >> 16) & 0xff, (offset >> 24) & 0xff],
    ...[length & 0xff, (length >> 8) & 0xff, (length >> 16) & 0xff],
  );
