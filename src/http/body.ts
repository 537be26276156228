import type { IncomingMessage } from "node:http";
import { badRequest, Refusal, tooLarge } from "#lib/refusal.ts";
import { parseQuery } from "./params/brackets.ts";
import { parseJsonObject } from "./params/json.ts";
import { emptySet, type RawSet } from "./params/raw.ts";

export const MOST_BODY = 1024 * 1024;

/** The kind of a body by its content type; a form with files is read later, after authentication. */
export type Encoding = "none" | "json" | "form" | "multipart";

export function encodingOf(request: IncomingMessage): Encoding {
  const { headers } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return "none";
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type === "multipart/form-data") return "multipart";
  const error = `The provided content-type '${type.slice(0, 255)}' is not supported.`;
  throw new Refusal("unsupported", error, { error });
}

export async function readSmallBody(request: IncomingMessage, encoding: Encoding): Promise<RawSet> {
  if (encoding === "json") return parseJsonObject(await readBody(request, MOST_BODY));
  if (encoding === "form") return parseQuery((await readBody(request, MOST_BODY)).toString("latin1"));
  return emptySet();
}

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
