import type { Repository } from "#git/storages/storage.ts";
import type { ObjectInfo, ObjectRead } from "./object.ts";

/** Who did something, and when. */
export interface Signature {
  readonly name: string;
  readonly email: string;
  /** Seconds since 1970. */
  readonly at: number;
  /** Minutes east of Greenwich. */
  readonly zone: number;
}

export interface Commit {
  readonly id: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
  /** Whether its message, names or parents were truncated. */
  readonly truncated: boolean;
}

/** An annotated tag. */
export interface Tag {
  readonly id: string;
  readonly message: string;
  readonly tagger: Signature | undefined;
  readonly truncated: boolean;
}

/** Larger objects are not read, because git returns an object only as a whole. */
const MAX_OBJECT_BYTES = 1024 * 1024;
/** Real merges have a few dozen parents. */
const MAX_PARENTS = 100;
const MAX_NAME_BYTES = 1024;
/** Enough for the parent lines of the largest commit. */
const MAX_HEADER_LINES = 25_000;

/** Smaller objects are always read. */
const LARGE_OBJECT_BYTES = 64 * 1024;
const MAX_LARGE_OBJECTS_BYTES = 16 * 1024 * 1024;

/** Limits the message, and which objects are read. */
interface ReadOptions {
  readonly messageBytes?: number;
  readonly allows?: (objectBytes: number) => boolean;
}

/** Budgets the large objects of one list: reading a thousand of them would take git many seconds. */
export function readAllowance(): (objectBytes: number) => boolean {
  let left = MAX_LARGE_OBJECTS_BYTES;
  return (bytes) => {
    if (bytes > LARGE_OBJECT_BYTES) left -= bytes;
    return bytes <= LARGE_OBJECT_BYTES || left >= 0;
  };
}

const isReadable = ({ size }: ObjectInfo, { allows = () => true }: ReadOptions) =>
  size <= MAX_OBJECT_BYTES && allows(size);

/** A commit by its id. */
export async function readCommit(
  repository: Repository,
  id: string,
  options: ReadOptions = {},
): Promise<Commit | undefined> {
  const info = await repository.objects.info(id);
  if (info?.type !== "commit") return undefined;
  if (!isReadable(info, options)) return tooLarge(id);
  const found = await repository.objects.read(id);
  return found && parseCommit(found, options);
}

/** Listed anyway, so that nothing can be hidden in a large commit. */
const tooLarge = (id: string): Commit => {
  const unknown = { name: "", email: "", at: 0, zone: 0 };
  const message = "This commit is too large to be shown";
  return { id, tree: "", parents: [], author: unknown, committer: unknown, message, truncated: true };
};

/** An annotated tag by the id of its object. */
export async function readTag(repository: Repository, id: string, options: ReadOptions = {}): Promise<Tag | undefined> {
  const info = await repository.objects.info(id);
  if (info?.type !== "tag") return undefined;
  if (!isReadable(info, options))
    return { id, message: "This tag is too large to be shown", tagger: undefined, truncated: true };
  const found = await repository.objects.read(id);
  if (!found) return undefined;
  const { fields, decode, message } = parse(found.bytes, options.messageBytes ?? MAX_OBJECT_BYTES);
  const line = fields.find(([name]) => name === "tagger")?.[1];
  const tagger = line && signature(line, decode);
  return { id, tagger, message: message.text, truncated: message.cut || (tagger?.truncated ?? false) };
}

export function parseCommit(
  { id, bytes }: Pick<ObjectRead, "id" | "bytes">,
  { messageBytes = MAX_OBJECT_BYTES }: ReadOptions = {},
): Commit {
  const { fields, decode, message } = parse(bytes, messageBytes);
  const first = (name: string) => fields.find(([field]) => field === name)?.[1] ?? Buffer.alloc(0);
  const parents = fields.filter(([name]) => name === "parent");
  const author = signature(first("author"), decode);
  const committer = signature(first("committer"), decode);
  return {
    id,
    tree: first("tree").toString("latin1"),
    parents: parents.slice(0, MAX_PARENTS).map(([, value]) => value.toString("latin1")),
    author,
    committer,
    message: message.text,
    truncated: message.cut || author.truncated || committer.truncated || parents.length > MAX_PARENTS,
  };
}

const ABRIDGED_LENGTH = 512;

/** The same commit or tag with only the beginning of its message, for a response that has no room for more. */
export function abridged<T extends Commit | Tag>(whole: T): T {
  const { message } = whole;
  const short = message.length > ABRIDGED_LENGTH ? `${message.slice(0, ABRIDGED_LENGTH).toWellFormed()}…` : message;
  return { ...whole, message: short, truncated: true };
}

type Field = readonly [name: string, value: Buffer];
type Decode = (bytes: Buffer) => string;

const FIELDS = ["tree", "parent", "author", "committer", "tagger", "encoding"];
const [LF, SPACE] = [10, 32];

/** Parses header fields, an empty line and a text; a line that begins with a space continues the field before it. */
function parse(bytes: Buffer, messageBytes: number) {
  const fields: Field[] = [];
  let start = 0;
  for (let lines = 0; lines < MAX_HEADER_LINES && start < bytes.length && bytes[start] !== LF; lines++) {
    const found = bytes.indexOf(LF, start);
    const end = found === -1 ? bytes.length : found;
    const space = bytes[start] === SPACE ? -1 : bytes.subarray(start, Math.min(end, start + 12)).indexOf(SPACE);
    const name = space === -1 ? "" : bytes.toString("latin1", start, start + space);
    if (FIELDS.includes(name)) fields.push([name, bytes.subarray(start + space + 1, end)]);
    start = end + 1;
  }
  const gap = bytes.indexOf("\n\n");
  const decode = decoder(fields.find(([name]) => name === "encoding")?.[1].toString("latin1", 0, 100));
  return { fields, decode, message: cut(gap === -1 ? Buffer.alloc(0) : bytes.subarray(gap + 2), messageBytes, decode) };
}

/** Decodes a text, truncated with an ellipsis if it is longer than `maxBytes`. */
function cut(bytes: Buffer, maxBytes: number, decode: Decode): { text: string; cut: boolean } {
  if (bytes.length <= maxBytes) return { text: decode(bytes), cut: false };
  let end = maxBytes;
  // Does not split a UTF-8 sequence.
  while (end > maxBytes - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: `${decode(bytes.subarray(0, end))}…`, cut: true };
}

/** Returns a decoder for the encoding that a commit names; invalid bytes become U+FFFD. */
function decoder(encoding: string | undefined): Decode {
  const utf8 = (bytes: Buffer) => bytes.toString("utf8");
  if (encoding === undefined || /^utf-?8$/i.test(encoding)) return utf8;
  try {
    const known = new TextDecoder(encoding);
    return (bytes) => known.decode(bytes);
  } catch {
    return utf8;
  }
}

/** The last day with a four-digit year in every time zone. */
const MAX_TIME = 253_402_214_399;
const MAX_TIME_BYTES = 32;
const TIME = /^ (?<at>\d{1,15}) (?<sign>[+-])(?<hours>\d\d)(?<minutes>\d\d)/;

function signature(line: Buffer, decode: Decode): Signature & { readonly truncated: boolean } {
  const open = line.indexOf("<");
  const close = line.indexOf(">", open);
  if (open === -1 || close === -1) {
    const { text, cut: truncated } = cut(line, MAX_NAME_BYTES, decode);
    return { name: text, email: "", at: 0, zone: 0, truncated };
  }
  const time = line.toString("latin1", close + 1, close + 1 + MAX_TIME_BYTES);
  const { at = "0", sign, hours = "0", minutes = "0" } = TIME.exec(time)?.groups ?? {};
  const east = Number(hours) * 60 + Number(minutes);
  const zone = east < 24 * 60 ? east : 0;
  const name = cut(line.subarray(0, open), MAX_NAME_BYTES, decode);
  const email = cut(line.subarray(open + 1, close), MAX_NAME_BYTES, decode);
  return {
    name: name.text.trimEnd(),
    email: email.text,
    at: Math.min(Number(at), MAX_TIME),
    zone: sign === "-" ? -zone : zone,
    truncated: name.cut || email.cut,
  };
}

/** The time of a signature in its own zone, as `2026-03-01T12:00:00.000+01:00`. */
export function momentOf({ at, zone }: Signature): string {
  const local = new Date((at + zone * 60) * 1000).toISOString().slice(0, -1);
  const minutes = Math.abs(zone);
  const digits = (number: number) => String(Math.floor(number)).padStart(2, "0");
  return `${local}${zone < 0 ? "-" : "+"}${digits(minutes / 60)}:${digits(minutes % 60)}`;
}

const MAX_TITLE = 1024;

/** The first line of a message. */
export function titleOf(message: string): string {
  const text = message.trimStart();
  const end = text.indexOf("\n");
  const line = end === -1 ? text : text.slice(0, end);
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE).toWellFormed()}…` : line.trimEnd();
}

const TRAILER = /^(?<key>[A-Za-z0-9-]+)[ \t]*:[ \t]*(?<value>.*)$/;
const MAX_TRAILERS = 100;
/** Trailers are searched only this far from the end, because a message may be nothing but line feeds. */
const MAX_TRAILERS_LENGTH = 16 * 1024;

/** The trailers of a message: its last paragraph, if that consists of `Key: value` lines only. */
export function trailersOf(message: string): [key: string, value: string][] {
  const paragraphs = message
    .trimEnd()
    .slice(-MAX_TRAILERS_LENGTH)
    .split(/\n[ \t]*\n/);
  if (paragraphs.length < 2) return [];
  const trailers: [string, string][] = [];
  for (const line of paragraphs.at(-1)?.split("\n") ?? []) {
    const { key, value = "" } = TRAILER.exec(line)?.groups ?? {};
    const last = trailers.at(-1);
    if (key !== undefined) trailers.push([key, value.trimEnd()]);
    else if (last && /^[ \t]/.test(line)) last[1] += ` ${line.trim()}`;
    else return [];
  }
  return trailers.slice(0, MAX_TRAILERS);
}
