import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { readBlob, streamBlob } from "#git/objects/blobs.ts";
import type { ObjectInfo } from "#git/objects/object.ts";
import type { Repository } from "#git/storages/storage.ts";
import { Refusal, unchanged } from "#lib/refusal.ts";

/** As many bytes of a file as JSON carries; what is larger is asked for raw. */
const MOST_IN_JSON = 10 * 1024 * 1024;
/** Up to here the bytes are at hand sooner than a process of their own would be. */
const MOST_AT_ONCE = 1024 * 1024;

/** The bytes, their Base64, the JSON and its bytes are in memory at once. */
const MEMORY_FACTOR = 5;

export async function bytesForJson(
  repository: Repository,
  { id, size }: ObjectInfo,
  { reserveMemory }: { reserveMemory(bytes: number): void },
): Promise<Buffer> {
  if (size > MOST_IN_JSON) {
    throw new Refusal("too large", `The file has ${size} bytes, more than fit into JSON; ask for it by /raw`);
  }
  reserveMemory(size * MEMORY_FACTOR);
  return (await readBlob(repository, id)) ?? Buffer.alloc(0);
}

/** The text of a file in JSON. Others get a turn around it, as each step with a large file takes some milliseconds. */
export async function base64Of(bytes: Buffer): Promise<string> {
  await nextTurn();
  const text = bytes.toString("base64");
  await nextTurn();
  return text;
}

interface Answering {
  header(name: string): string | undefined;
  setHeader(name: string, value: string): void;
}

/** A blob as it is. Nothing that somebody committed is shown as a page, so that it cannot act for who looks at it. */
export async function sendRaw(
  repository: Repository,
  { id, size }: ObjectInfo,
  name: string,
  { header, setHeader }: Answering,
): Promise<Buffer | Readable> {
  setHeader("etag", `"${id}"`);
  if (header("if-none-match")?.includes(id)) throw unchanged();
  setHeader("cache-control", "max-age=0, private, must-revalidate");
  setHeader("content-disposition", attachment(name));
  if (size <= MOST_AT_ONCE) {
    const bytes = (await readBlob(repository, id)) ?? Buffer.alloc(0);
    if (isUtf8(bytes) && !bytes.includes(0)) setHeader("content-type", "text/plain; charset=utf-8");
    return bytes;
  }
  const bytes = await streamBlob(repository, { id, size });
  setHeader("content-length", String(size));
  return bytes;
}

const MOST_OF_NAME = 200;

/** The header by which a browser keeps what it gets instead of showing it. */
export function attachment(name: string): string {
  const kept = [...name].slice(-MOST_OF_NAME).join("");
  const encoded = encodeURIComponent(kept).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${kept.replaceAll(/[^\w.-]/g, "_")}"; filename*=UTF-8''${encoded}`;
}
