import { Upload, Verbatim } from "./marks.ts";

export type Field = readonly [name: string, value: unknown];

/** UTF-8, with lone surrogates as three bytes, which valid UTF-8 does not contain. */
function bytesOf(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  return Buffer.concat(
    [...text].map((character) => {
      const code = character.codePointAt(0) ?? 0;
      if (code < 0xd800 || code > 0xdfff) return Buffer.from(character);
      return Buffer.from([0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]);
    }),
  );
}

export function percent(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of bytesOf(text)) {
    const character = String.fromCharCode(byte);
    encoded += /[\w.~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** One field as pairs in bracket notation: `a[]`, `h[k]`. */
function flatten(name: string, value: unknown): Field[] {
  if (value instanceof Verbatim || value instanceof Upload) return [[name, value]];
  if (Array.isArray(value))
    return value.length === 0 ? [[`${name}[]`, ""]] : value.flatMap((item) => flatten(`${name}[]`, item));
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, item]) => flatten(`${name}[${key}]`, item));
  }
  return [[name, value === null || value === undefined ? "" : String(value)]];
}

/** A query or an urlencoded body. */
export const toQuery = (fields: readonly Field[]): string =>
  fields
    .flatMap(([name, value]) => flatten(name, value))
    .filter(([, value]) => !(value instanceof Upload))
    .map(
      ([name, value]) => `${percent(name)}=${value instanceof Verbatim ? latin1(value.text) : percent(String(value))}`,
    )
    .join("&");

const latin1 = (text: string) => bytesOf(text).toString("latin1");

function toJsonText(value: unknown): string {
  if (value instanceof Verbatim) return value.text;
  if (value instanceof Upload) return '"a file"';
  if (Array.isArray(value)) return `[${value.map(toJsonText).join(",")}]`;
  if (typeof value === "object" && value !== null) return objectText(Object.entries(value));
  return value === undefined ? "null" : JSON.stringify(value);
}

/** A JSON object of fields, which may have a key twice. */
const objectText = (fields: readonly Field[]) =>
  `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${toJsonText(value)}`).join(",")}}`;

export const toJson = (fields: readonly Field[]): Buffer => bytesOf(objectText(fields));

/** A form with files. Names are not escaped, quotes and line ends included: the server must cope with them. */
export function toMultipart(fields: readonly Field[], boundary: string): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields.flatMap(([field, given]) => flatten(field, given))) {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`;
    if (value instanceof Upload) {
      parts.push(bytesOf(`${head}; filename="${value.filename}"\r\ncontent-type: ${value.type}\r\n\r\n`), value.bytes);
    } else {
      parts.push(bytesOf(`${head}\r\n\r\n${value instanceof Verbatim ? value.text : String(value)}`));
    }
    parts.push(Buffer.from("\r\n"));
  }
  return Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`, "latin1")]);
}
