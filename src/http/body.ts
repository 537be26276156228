import type { IncomingMessage, ServerResponse } from "node:http";
import { PassThrough, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { badRequest, Refusal, tooLarge } from "#lib/refusal.ts";
import { parseQuery } from "./params/brackets.ts";
import { parseJsonObject } from "./params/json.ts";
import { emptySet, type RawSet } from "./params/raw.ts";

export const MOST_BODY = 1024 * 1024;

/** The kind of a body by its content type; a form with files is read later, after authentication. */
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
  most: number = MOST_BODY,
): Promise<RawSet> {
  if (encoding === "json") return parseJsonObject(await readBody(request, most));
  if (encoding === "form") return parseQuery((await readBody(request, most)).toString("latin1"));
  return emptySet();
}

/** Whether a body may turn out to be larger than what is read of anybody. */
export const mayBeLarge = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > MOST_BODY;

/** Reads a whole body into memory, up to a limit. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // The rest of a body that is too large is dropped by whoever answers; destroyed, it would take the answer with it.
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

/** The body as it comes, inflated where it was packed. Whoever stops reading it leaves the connection to the answer. */
export function streamBody(request: IncomingMessage, response: ServerResponse): Readable {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (!/^(identity|(x-)?gzip)$/i.test(encoding)) {
    throw new Refusal("unsupported", "The body may be packed by gzip alone.");
  }
  const body = new PassThrough();
  // Whoever reads it is told; until somebody does, it is nobody's failure.
  body.on("error", () => {});
  const spoil = () => body.destroy(badRequest("the body cannot be read"));
  const source = encoding.toLowerCase() === "identity" ? request : request.pipe(createGunzip());
  request.on("error", spoil);
  source.on("error", spoil).pipe(body);
  response.once("close", () => body.destroy(badRequest("the body ended early")));
  body.once("close", () => {
    request.unpipe();
    if (source !== request) source.destroy();
    request.resume();
  });
  return body;
}
