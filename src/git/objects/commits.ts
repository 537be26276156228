import type { Repository } from "#git/storages/storage.ts";
import type { ObjectRead } from "./object.ts";

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
}

/** What an annotated tag says. */
export interface Tag {
  readonly id: string;
  readonly target: string;
  readonly message: string;
  readonly tagger: Signature | undefined;
}

/** A page of larger ones would take more memory than there is. */
const MOST_BYTES = 1024 * 1024;

/** A commit by its id. */
export async function readCommit(repository: Repository, id: string): Promise<Commit | undefined> {
  const info = await repository.objects.info(id);
  if (info?.type !== "commit") return undefined;
  if (info.size > MOST_BYTES) return tooLarge(id);
  const found = await repository.objects.read(id);
  return found && parseCommit(found);
}

/** Left out of a list, it would be hidden from those who look for it. */
const tooLarge = (id: string): Commit => {
  const nobody = { name: "", email: "", at: 0, zone: 0 };
  const message = "This commit is too large to be shown";
  return { id, tree: "", parents: [], author: nobody, committer: nobody, message };
};

/** Commits in the order of their ids; what is none is left out. */
export async function readCommits(repository: Repository, ids: readonly string[]): Promise<Commit[]> {
  const found = await Promise.all(ids.map((id) => readCommit(repository, id)));
  return found.filter((commit) => commit !== undefined);
}

/** An annotated tag by the id of its object. */
export async function readTag(repository: Repository, id: string): Promise<Tag | undefined> {
  const found = await repository.objects.read(id, MOST_BYTES);
  if (found?.type !== "tag") return undefined;
  const { fields, message } = parse(found.bytes);
  const tagger = first(fields, "tagger");
  return {
    id,
    target: first(fields, "object") ?? "",
    message,
    tagger: tagger === undefined ? undefined : signature(tagger),
  };
}

export function parseCommit({ id, bytes }: Pick<ObjectRead, "id" | "bytes">): Commit {
  const { fields, message } = parse(bytes);
  return {
    id,
    tree: first(fields, "tree") ?? "",
    parents: fields.filter(([name]) => name === "parent").map(([, value]) => value),
    author: signature(first(fields, "author") ?? ""),
    committer: signature(first(fields, "committer") ?? ""),
    message,
  };
}

type Field = readonly [name: string, value: string];

const first = (fields: readonly Field[], name: string) => fields.find(([given]) => given === name)?.[1];

/** Lines of fields, an empty line, and a text; lines that begin with a space go on with the field before. */
function parse(bytes: Buffer): { fields: Field[]; message: string } {
  const gap = bytes.indexOf("\n\n");
  const head = gap === -1 ? bytes : bytes.subarray(0, gap);
  const encoding = /^encoding (.+)$/m.exec(head.toString("latin1"))?.[1];
  const fields = decode(head, encoding)
    .split("\n")
    .filter((line) => !line.startsWith(" "))
    .map((line): Field => {
      const space = line.indexOf(" ");
      return [line.slice(0, space), line.slice(space + 1)];
    });
  return { fields, message: gap === -1 ? "" : decode(bytes.subarray(gap + 2), encoding) };
}

/** A text in the encoding it names; what cannot be read in it becomes U+FFFD. */
function decode(bytes: Buffer, encoding: string | undefined): string {
  if (encoding === undefined || /^utf-?8$/i.test(encoding)) return bytes.toString("utf8");
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    return bytes.toString("utf8");
  }
}

/** The last day that has a year of four digits in every zone. */
const LAST = 253_402_214_399;
const TIME = /^ (?<at>\d{1,15}) (?<sign>[+-])(?<hours>\d\d)(?<minutes>\d\d)/;

function signature(text: string): Signature {
  const open = text.indexOf("<");
  const close = text.indexOf(">", open);
  if (open === -1 || close === -1) return { name: text, email: "", at: 0, zone: 0 };
  const { at = "0", sign, hours = "0", minutes = "0" } = TIME.exec(text.slice(close + 1))?.groups ?? {};
  const east = Number(hours) * 60 + Number(minutes);
  const zone = east < 24 * 60 ? east : 0;
  return {
    name: text.slice(0, open).trimEnd(),
    email: text.slice(open + 1, close),
    at: Math.min(Number(at), LAST),
    zone: sign === "-" ? -zone : zone,
  };
}

/** A moment in the zone of whoever's it is, as `2026-03-01T12:00:00.000+01:00`. */
export function momentOf({ at, zone }: Signature): string {
  const local = new Date((at + zone * 60) * 1000).toISOString().slice(0, -1);
  const minutes = Math.abs(zone);
  const digits = (number: number) => String(Math.floor(number)).padStart(2, "0");
  return `${local}${zone < 0 ? "-" : "+"}${digits(minutes / 60)}:${digits(minutes % 60)}`;
}

/** The first line of a message. */
export const titleOf = (message: string): string => message.replace(/^\s+/, "").split("\n", 1)[0]?.trimEnd() ?? "";

const TRAILER = /^(?<key>[A-Za-z0-9-]+)[ \t]*:[ \t]*(?<value>.*)$/;
const MOST_TRAILERS = 100;

/** What the last paragraph of a message says as `Key: value` lines, if it says nothing else. */
export function trailersOf(message: string): [key: string, value: string][] {
  const paragraphs = message.trimEnd().split(/\n[ \t]*\n/);
  if (paragraphs.length < 2) return [];
  const trailers: [string, string][] = [];
  for (const line of paragraphs.at(-1)?.split("\n") ?? []) {
    const { key, value = "" } = TRAILER.exec(line)?.groups ?? {};
    const last = trailers.at(-1);
    if (key !== undefined) trailers.push([key, value.trimEnd()]);
    else if (last && /^[ \t]/.test(line)) last[1] += ` ${line.trim()}`;
    else return [];
  }
  return trailers.slice(0, MOST_TRAILERS);
}
