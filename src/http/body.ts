import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { badRequest, Refusal, tooLarge } from "#lib/refusal.ts";
import { parseQuery } from "./params/brackets.ts";
import { parseJsonObject } from "./params/json.ts";
import { emptySet, type RawSet } from "./params/raw.ts";

export const MAX_BODY_BYTES = 1024 * 1024;

/** The kind of a body by its content type; multipart forms are read only after authentication. */
export type Encoding = "none" | "json" | "form" | "multipart";

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

export function encodingOf(request: IncomingMessage): Encoding {
  if (!hasBody(request)) return "none";
  const type = (request.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type === "multipart/form-data") return "multipart";
  const error = `The provided content-type '${type.slice(0, 255)}' is not supported.`;
  throw new Refusal("unsupported", error, { error });
}

export async function readBodyParams(
  request: IncomingMessage,
  encoding: Encoding,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<RawSet> {
  if (encoding === "json") return parseJsonObject(await readBody(request, maxBytes));
  if (encoding === "form") return parseQuery((await readBody(request, maxBytes)).toString("latin1"));
  return emptySet();
}

/** Whether a body may exceed what is read before the caller is authorized. */
export const mayBeLarge = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES;

/** Reads a whole body into memory, up to a limit. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The response discards the rest of a body that is too large; destroying the request would lose the response.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw badRequest("the body ended early");
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
}

/** The body as a stream, decompressed if needed. Closing it early leaves the connection open for the response. */
export function streamBody(request: IncomingMessage, response: ServerResponse): Readable {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (!/^(identity|(x-)?gzip)$/i.test(encoding)) {
    throw new Refusal("unsupported", "The body may be packed by gzip alone.");
  }
  const body = new PassThrough();
  // The reader gets the error; before there is one, it must not crash the process.
  body.on("error", () => {});
  const fail = () => body.destroy(badRequest("the body cannot be read"));
  const source = encoding.toLowerCase() === "identity" ? request : request.pipe(createGunzip());
  request.on("error", fail);
  source.on("error", fail).pipe(body);
  response.once("close", () => body.destroy(badRequest("the body ended early")));
  body.once("close", () => {
    request.unpipe();
    if (source !== request) source.destroy();
    request.resume();
  });
  return body;
}
