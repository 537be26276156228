import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import { finished, type Readable } from "node:stream";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { badParameter, Refusal, tooLarge } from "#lib/refusal.ts";
import { MAX_PARAMETERS, put, tooManyParameters } from "./brackets.ts";
import { emptySet, type RawSet, UploadedFile } from "./raw.ts";

export interface MultipartLimits {
  readonly files: number;
  /** Bytes of one file, or of one field. */
  readonly partBytes: number;
  readonly totalBytes: number;
}

const MEBIBYTE = 1_048_576;
export const MULTIPART_LIMITS: MultipartLimits = { files: 4, partBytes: MEBIBYTE, totalBytes: 5 * MEBIBYTE };
const HEADER_LIMITS = { headerSize: 16_384, headerPairs: 32 };

interface BodyPart {
  readonly name: string | undefined;
  readonly filename: string | undefined;
  readonly type: string;
  readonly chunks: Buffer[];
}

const malformed = () => badParameter("The request body is not valid multipart data");

/** Reads a whole form. It always settles, and always reads the stream to its end, so that a response can be sent. */
export async function readMultipart(
  stream: Readable,
  headers: IncomingHttpHeaders,
  limits: MultipartLimits = MULTIPART_LIMITS,
): Promise<RawSet> {
  const body = await readAll(stream, limits.totalBytes);
  return collect(await split(body, headers, limits), limits.files);
}

function readAll(stream: Readable, limit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= limit) return chunks.push(chunk);
    chunks.length = 0;
    return reject(tooLarge());
  });
  finished(stream, { writable: false }, (error) => {
    if (error) reject(badParameter("The request body ended early"));
    else resolve(Buffer.concat(chunks));
  });
  return promise;
}

/** The parser gets the whole body at once, because its result for a broken one depends on where chunks end. */
function split(body: Buffer, headers: IncomingHttpHeaders, { files, partBytes }: MultipartLimits): Promise<BodyPart[]> {
  const { promise, resolve, reject } = Promise.withResolvers<BodyPart[]>();
  const parts: BodyPart[] = [];
  const limits = { ...HEADER_LIMITS, fileSize: partBytes, parts: MAX_PARAMETERS + files };
  try {
    // Every part is treated as a file, so that fields arrive as bytes too and are decoded strictly here.
    const parser = new Busboy({ headers: headers as BusboyHeaders, isPartAFile: () => true, limits });
    parser.on("file", (name, content, filename, _encoding, type) => {
      const part: BodyPart = { name, filename, type, chunks: [] };
      parts.push(part);
      content.on("data", (chunk: Buffer) => part.chunks.push(chunk));
      content.on("limit", () => reject(tooLarge()));
      content.on("error", () => reject(malformed()));
    });
    // Thrown instead of rejected, so that the parser does not parse the rest into a million parts.
    parser.on("partsLimit", () => {
      throw tooManyParameters();
    });
    parser.on("error", () => reject(malformed()));
    parser.on("finish", () => resolve(parts));
    parser.end(body);
    // After the whole input the parser needs only a few ticks; if it has not finished by then, it never will.
    setImmediate(reject, malformed());
  } catch (error) {
    reject(error instanceof Refusal ? error : malformed());
  }
  return promise;
}

function collect(parts: readonly BodyPart[], maxFiles: number): RawSet {
  const set = emptySet();
  const files = parts.filter((part) => part.filename !== undefined).length;
  if (files > maxFiles) throw badParameter(`More than ${maxFiles} files`);
  if (parts.length - files > MAX_PARAMETERS) throw tooManyParameters();
  for (const { name, filename, type, chunks } of parts) {
    if (!name) throw malformed();
    const bytes = Buffer.concat(chunks);
    checkText(name + (filename ?? ""));
    put(set, name, filename === undefined ? textOf(bytes) : fileOf(filename, type, bytes));
  }
  return set;
}

function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw badParameter("The parameters are not valid UTF-8");
  const text = bytes.toString("utf8");
  checkText(text);
  return text;
}

function checkText(text: string): void {
  if (text.includes("\0")) throw badParameter("The parameters contain a NUL character");
  if (!text.isWellFormed()) throw badParameter("The parameters are not valid UTF-8");
}

/** A browser sends a nameless empty file if none was chosen. */
const fileOf = (filename: string, type: string, bytes: Buffer) =>
  filename === "" && bytes.length === 0 ? "" : new UploadedFile(filename, type, bytes);
