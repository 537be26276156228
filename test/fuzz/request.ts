import { type Field, percent, toJson, toMultipart, toQuery } from "./encode.ts";
import { Pieces, Upload, Verbatim } from "./marks.ts";

export type Encoding = "none" | "json" | "form" | "multipart";

/** A request that changes modify before it is encoded. */
export interface Draft {
  method: string;
  /** The encoded segments of the path. */
  segments: string[];
  /** The index of the segment of each path parameter. */
  readonly places: ReadonlyMap<string, number>;
  query: Field[];
  /** Parts of the query that are not encoded. */
  rawQuery: string[];
  headers: [name: string, value: string][];
  encoding: Encoding;
  fields: Field[];
  contentType: string | undefined;
  /** Replaces the encoded fields. */
  body: Buffer | undefined;
  edits: ((body: Buffer) => Buffer)[];
  host: string;
}

/** A request as it is sent; all text has one byte per character. */
export interface WireRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | undefined;
}

export const BOUNDARY = "----fuzz-boundary";

const TYPES: Record<Exclude<Encoding, "none">, string> = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
  multipart: `multipart/form-data; boundary=${BOUNDARY}`,
};

export function newDraft(method: string, address: string, values: ReadonlyMap<string, unknown>): Draft {
  const places = new Map<string, number>();
  const segments = address.split("/").map((piece, index) => {
    const [, name] = /^[:*](\w+)/.exec(piece) ?? [];
    if (name === undefined) return piece;
    places.set(name, index);
    return segmentOf(values.get(name));
  });
  return {
    ...{ method, segments, places, host: "localhost", encoding: "none" },
    ...{ query: [], rawQuery: [], headers: [], fields: [], contentType: undefined, body: undefined, edits: [] },
  };
}

/** A value as one segment of a path. */
export function segmentOf(value: unknown): string {
  if (value instanceof Pieces) return value.text.split("/").map(percent).join("/");
  return percent(
    value instanceof Verbatim ? value.text : typeof value === "object" ? JSON.stringify(value) : String(value),
  );
}

/** Changes a parameter, in the path or elsewhere. */
export function setField(draft: Draft, name: string, value: unknown) {
  const place = draft.places.get(name);
  if (place !== undefined) {
    draft.segments[place] = segmentOf(value);
    return;
  }
  const list = draft.query.some(([known]) => known === name) || draft.encoding === "none" ? "query" : "fields";
  draft[list] = [...draft[list].filter(([known]) => known !== name), [name, value]];
}

export function finish(draft: Draft): WireRequest {
  const query = [toQuery(draft.query), ...draft.rawQuery].filter((piece) => piece !== "").join("&");
  const target = draft.segments.join("/") + (query === "" ? "" : `?${query}`);
  const body = bodyOf(draft);
  const type = draft.contentType ?? (draft.encoding === "none" ? undefined : TYPES[draft.encoding]);
  const headers = [["host", draft.host] as const, ...draft.headers];
  return {
    method: draft.method,
    target,
    body,
    headers: type === undefined ? headers : [...headers, ["content-type", type]],
  };
}

function bodyOf({ encoding, fields, body, edits }: Draft): Buffer | undefined {
  const encoded = body ?? encodedFields(encoding, fields);
  if (encoded === undefined) return undefined;
  return edits.reduce((edited, edit) => edit(edited), encoded);
}

function encodedFields(encoding: Encoding, fields: readonly Field[]): Buffer | undefined {
  if (encoding === "json") return toJson(fields);
  if (encoding === "form") return Buffer.from(toQuery(fields), "latin1");
  if (encoding === "multipart") return toMultipart(fields, BOUNDARY);
  return undefined;
}

// A line end or a space inside a line would change the request itself, which only the raw cases do.
const inLine = (text: string) => text.replaceAll(/[\r\n\0 ]/g, "+");
const inHeader = (text: string) => text.replaceAll(/[\r\n\0]/g, " ");

export function bytesOf({ method, target, headers, body }: WireRequest): Buffer {
  const head = [
    `${method} ${inLine(target) || "/"} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${inHeader(value)}`),
    ...(body === undefined ? [] : [`content-length: ${body.length}`]),
  ].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, "latin1"), body ?? Buffer.alloc(0)]);
}

/** Only multipart bodies carry files. */
export const withoutFiles = (fields: readonly Field[]): Field[] =>
  fields.filter(([, value]) => !(value instanceof Upload));
