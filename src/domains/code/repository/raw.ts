import { isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { readBlob, streamBlob } from "#git/objects/blobs.ts";
import type { ObjectInfo } from "#git/objects/object.ts";
import type { Repository } from "#git/storages/storage.ts";
import { Refusal, unchanged } from "#lib/refusal.ts";

/** Larger files are available only raw. */
const MAX_JSON_BYTES = 10 * 1024 * 1024;
/** Up to this size the shared batch process is faster than a process of its own. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** The bytes, their Base64, the JSON and its bytes are all in memory at once. */
const MEMORY_FACTOR = 5;

export async function bytesForJson(
  repository: Repository,
  { id, size }: ObjectInfo,
  { reserveMemory }: { reserveMemory(bytes: number): void },
  instead = "ask for it by /raw",
): Promise<Buffer> {
  if (size > MAX_JSON_BYTES) {
    throw new Refusal("too large", `The file has ${size} bytes, more than fit into JSON; ${instead}`);
  }
  reserveMemory(size * MEMORY_FACTOR);
  return (await readBlob(repository, id)) ?? Buffer.alloc(0);
}

/** Encodes a file for JSON and yields to the event loop around it, as each step takes milliseconds for a large file. */
export async function base64Of(bytes: Buffer): Promise<string> {
  await nextTurn();
  const text = bytes.toString("base64");
  await nextTurn();
  return text;
}

interface ResponseHeaders {
  header(name: string): string | undefined;
  setHeader(name: string, value: string): void;
}

/** Sends a blob as an attachment: a browser must never run committed HTML in the session of its reader. */
export async function sendRaw(
  repository: Repository,
  { id, size }: ObjectInfo,
  name: string,
  { header, setHeader }: ResponseHeaders,
): Promise<Buffer | Readable> {
  setHeader("etag", `"${id}"`);
  if (header("if-none-match")?.includes(id)) throw unchanged();
  setHeader("cache-control", "max-age=0, private, must-revalidate");
  setHeader("content-disposition", attachment(name));
  if (size <= MAX_BUFFERED_BYTES) {
    const bytes = (await readBlob(repository, id)) ?? Buffer.alloc(0);
    if (isUtf8(bytes) && !bytes.includes(0)) setHeader("content-type", "text/plain; charset=utf-8");
    return bytes;
  }
  const bytes = await streamBlob(repository, { id, size });
  setHeader("content-length", String(size));
  return bytes;
}

const MAX_FILE_NAME_LENGTH = 200;

/** The `Content-Disposition` that makes a browser download a file. */
export function attachment(name: string): string {
  const short = [...name].slice(-MAX_FILE_NAME_LENGTH).join("");
  const encoded = encodeURIComponent(short).replaceAll(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${short.replaceAll(/[^\w.-]/g, "_")}"; filename*=UTF-8''${encoded}`;
}
